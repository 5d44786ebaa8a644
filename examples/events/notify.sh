#!/bin/sh
# A desktop notification. In the settings:
#   [on]
#   batch_ready = ["~/navigator/examples/events/notify.sh"]
# Needs jq and notify-send (libnotify); on macOS use `osascript -e 'display notification …'` in its place.
set -eu
said=$(cat)
count=$(printf %s "$said" | jq '.waiting | length')
batch=$(printf %s "$said" | jq -r .batch)
notify-send "Navigator" "$count proposals of batch $batch wait for you."
