"""Known faults planted into sound source: text in, faulty text out. Pure and seeded; the rehearsal and exams use it."""
