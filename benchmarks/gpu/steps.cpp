// Times single steps of a model: a pass over gamma + 1 new tokens for each of n streams at a given context length.
// gamma 0 is plain decoding; above it is what verifying gamma drafted tokens takes. One line of JSON a measurement,
// so that a run that is cut short loses only the measurement it was in.
//
//   steps MODEL [--depths 512,8192] [--streams 1,2,4,8] [--gammas 0,1,2,4] [--repeats 20] [--warm-up 3]
//               [--layers 999] [--threads 8] [--text FILE] [--last-only] [--experts]
//
// After each pass gamma tokens of every stream are taken back, as when a whole draft is rejected. Models with recurrent
// layers keep a snapshot for each token they may have to take back, so writing those is part of what is timed. Every new
// token's logits are computed and copied to the host, as llama-server does it; --last-only asks for one row a stream.
// Tokens are random, or consecutive tokens of --text. --experts counts the distinct experts a layer reads in a pass
// instead of timing it: the counting slows the pass down.

#include "ggml-backend.h"
#include "llama.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

struct Options {
    std::string model;
    std::vector<int> depths{512};
    std::vector<int> streams{1};
    std::vector<int> gammas{0};
    int repeats = 20;
    int warm_up = 3;
    int layers = 999;
    int threads = 8;
    std::string text;
    bool last_only = false;
    bool experts = false;
};

[[noreturn]] void fail(const std::string & why) {
    std::fprintf(stderr, "steps: %s\n", why.c_str());
    std::exit(1);
}

std::vector<int> numbers(const std::string & list) {
    std::vector<int> found;
    std::stringstream stream(list);
    for (std::string part; std::getline(stream, part, ',');) {
        found.push_back(std::stoi(part));
    }
    return found;
}

Options read(int count, char ** words) {
    Options options;
    for (int i = 1; i < count; ++i) {
        const std::string word = words[i];
        const auto value = [&]() -> std::string {
            if (++i >= count) {
                fail(word + " needs a value");
            }
            return words[i];
        };
        if (word == "--depths") {
            options.depths = numbers(value());
        } else if (word == "--streams") {
            options.streams = numbers(value());
        } else if (word == "--gammas") {
            options.gammas = numbers(value());
        } else if (word == "--repeats") {
            options.repeats = std::stoi(value());
        } else if (word == "--warm-up") {
            options.warm_up = std::stoi(value());
        } else if (word == "--layers") {
            options.layers = std::stoi(value());
        } else if (word == "--threads") {
            options.threads = std::stoi(value());
        } else if (word == "--text") {
            options.text = value();
        } else if (word == "--last-only") {
            options.last_only = true;
        } else if (word == "--experts") {
            options.experts = true;
        } else if (word.rfind("--", 0) == 0 || !options.model.empty()) {
            fail("unknown option " + word);
        } else {
            options.model = word;
        }
    }
    if (options.model.empty()) {
        fail("no model named");
    }
    return options;
}

double now() {
    using namespace std::chrono;
    return duration<double>(steady_clock::now().time_since_epoch()).count();
}

double quantile(std::vector<double> values, double share) {
    std::sort(values.begin(), values.end());
    const double at = share * (values.size() - 1);
    const size_t below = size_t(at);
    const size_t above = std::min(below + 1, values.size() - 1);
    return values[below] + (at - below) * (values[above] - values[below]);
}

// Hands out tokens: random ones, or a text's, each stream from a place of its own.
class Tokens {
public:
    Tokens(const llama_vocab * vocabulary, const std::string & path) : size_(llama_vocab_n_tokens(vocabulary)) {
        if (path.empty()) {
            return;
        }
        std::ifstream file(path);
        const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
        text_.resize(text.size() + 16);
        const int found =
            llama_tokenize(vocabulary, text.data(), int(text.size()), text_.data(), int(text_.size()), false, false);
        if (found < 1024) {
            fail(path + " has fewer than 1024 tokens, or cannot be read");
        }
        text_.resize(found);
    }

    llama_token at(int stream, int position) {
        if (text_.empty()) {
            return llama_token(random_() % uint32_t(size_));
        }
        return text_[(size_t(stream) * 7919 + position) % text_.size()];
    }

private:
    int size_;
    std::vector<llama_token> text_;
    std::mt19937 random_{0};
};

// Collects which experts a pass chose, a layer at a time.
struct Counter {
    bool on = false;
    std::vector<double> distinct;
};

bool count_experts(ggml_tensor * tensor, bool ask, void * data) {
    auto * counter = static_cast<Counter *>(data);
    if (std::strncmp(tensor->name, "ffn_moe_topk", 12) != 0) {
        return ask ? false : true;
    }
    if (ask || !counter->on) {
        return counter->on;
    }
    // The chosen ones are a view on the first rows of a sorted list, so its rows are further apart than they are long.
    std::set<int32_t> seen;
    std::vector<int32_t> row(tensor->ne[0]);
    for (int64_t token = 0; token < tensor->ne[1]; ++token) {
        ggml_backend_tensor_get(tensor, row.data(), size_t(token) * tensor->nb[1], row.size() * sizeof(int32_t));
        seen.insert(row.begin(), row.end());
    }
    counter->distinct.push_back(double(seen.size()));
    return true;
}

class Bench {
public:
    Bench(llama_model * model, const Options & options, int depth, int gamma)
        : options_(options), depth_(depth), gamma_(gamma), tokens_(llama_model_get_vocab(model), options.text) {
        const int most = *std::max_element(options.streams.begin(), options.streams.end());
        const int passes = int(options.streams.size()) * (options.repeats + options.warm_up);
        // The cache is cut into equal parts, one a stream; its length is rounded up because attention kernels want that.
        const int each = (depth + passes + gamma + 1 + 255) / 256 * 256;
        llama_context_params params = llama_context_default_params();
        params.n_ctx = uint32_t(each) * most;
        params.n_batch = params.n_ubatch = uint32_t(std::max(512, most * (gamma + 1)));
        params.n_seq_max = uint32_t(most);
        params.n_rs_seq = uint32_t(gamma);
        params.n_threads = params.n_threads_batch = options.threads;
        params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_AUTO;
        params.kv_unified = false;
        params.no_perf = true;
        if (options.experts) {
            params.cb_eval = count_experts;
            params.cb_eval_user_data = &counter_;
        }
        context_ = llama_init_from_model(model, params);
        if (context_ == nullptr) {
            fail("the context does not fit");
        }
        batch_ = llama_batch_init(int32_t(params.n_batch), 0, 1);
        fill(int(params.n_batch), most);
    }

    ~Bench() {
        llama_batch_free(batch_);
        llama_free(context_);
    }

    void measure(int streams) {
        for (int i = 0; i < options_.warm_up; ++i) {
            step(streams);
        }
        counter_.on = options_.experts;
        counter_.distinct.clear();
        std::vector<double> took;
        for (int i = 0; i < options_.repeats; ++i) {
            took.push_back(step(streams));
        }
        counter_.on = false;
        std::printf("{\"depth\": %d, \"streams\": %d, \"gamma\": %d, \"n\": %d, ", depth_, streams, gamma_, options_.repeats);
        if (options_.experts) {
            double sum = 0;
            for (const double one : counter_.distinct) {
                sum += one;
            }
            std::printf("\"passes_times_layers\": %zu, \"distinct_experts\": %.3f}\n", counter_.distinct.size(),
                counter_.distinct.empty() ? 0.0 : sum / double(counter_.distinct.size()));
        } else {
            std::printf("\"rows_of_logits\": \"%s\", \"median_ms\": %.4f, \"p10_ms\": %.4f, \"p90_ms\": %.4f, "
                        "\"fill_tokens_per_second\": %.1f}\n",
                options_.last_only ? "last" : "all", 1e3 * quantile(took, 0.5), 1e3 * quantile(took, 0.1),
                1e3 * quantile(took, 0.9), fill_speed_);
        }
        std::fflush(stdout);
    }

private:
    void add(llama_token token, int position, int stream, bool logits) {
        const int i = batch_.n_tokens++;
        batch_.token[i] = token;
        batch_.pos[i] = position;
        batch_.n_seq_id[i] = 1;
        batch_.seq_id[i][0] = stream;
        batch_.logits[i] = logits;
    }

    void run() {
        if (llama_decode(context_, batch_) != 0) {
            fail("a pass failed");
        }
        llama_synchronize(context_);
    }

    // One stream reads the context, the others get a copy of it.
    void fill(int chunk, int most) {
        const double began = now();
        for (int at = 0; at < depth_; at += chunk) {
            batch_.n_tokens = 0;
            const int end = std::min(depth_, at + chunk);
            for (int i = at; i < end; ++i) {
                add(tokens_.at(0, i), i, 0, i == end - 1);
            }
            run();
        }
        fill_speed_ = depth_ / (now() - began);
        for (int stream = 1; stream < most; ++stream) {
            llama_memory_seq_cp(llama_get_memory(context_), 0, stream, -1, -1);
        }
        ends_.assign(size_t(most), depth_);
    }

    double step(int streams) {
        batch_.n_tokens = 0;
        for (int stream = 0; stream < streams; ++stream) {
            for (int i = 0; i <= gamma_; ++i) {
                const int position = ends_[stream] + i;
                add(tokens_.at(stream, position), position, stream, i == gamma_ || !options_.last_only);
            }
        }
        const double began = now();
        run();
        for (int stream = 0; stream < streams; ++stream) {
            ++ends_[stream];
            if (gamma_ > 0 && !llama_memory_seq_rm(llama_get_memory(context_), stream, ends_[stream], -1)) {
                fail("this model cannot take back " + std::to_string(gamma_) + " tokens");
            }
        }
        return now() - began;
    }

    const Options & options_;
    const int depth_;
    const int gamma_;
    Tokens tokens_;
    Counter counter_;
    llama_context * context_ = nullptr;
    llama_batch batch_{};
    std::vector<int> ends_;
    double fill_speed_ = 0;
};

void quiet(ggml_log_level level, const char * text, void *) {
    if (level >= GGML_LOG_LEVEL_WARN && level != GGML_LOG_LEVEL_CONT) {
        std::fputs(text, stderr);
    }
}

} // namespace

int main(int count, char ** words) {
    const Options options = read(count, words);
    llama_log_set(quiet, nullptr);
    llama_backend_init();
    llama_model_params params = llama_model_default_params();
    params.n_gpu_layers = options.layers;
    // Without a GPU the weights would otherwise be rearranged into a copy, which takes as much memory again.
    params.use_extra_bufts = false;
    const double began = now();
    llama_model * model = llama_model_load_from_file(options.model.c_str(), params);
    if (model == nullptr) {
        fail("cannot load " + options.model);
    }
    char description[128];
    llama_model_desc(model, description, sizeof description);
    std::printf("{\"model\": \"%s\", \"parameters\": %llu, \"bytes\": %llu, \"load_seconds\": %.3f}\n", description,
        (unsigned long long) llama_model_n_params(model), (unsigned long long) llama_model_size(model), now() - began);
    std::fflush(stdout);
    for (const int depth : options.depths) {
        for (const int gamma : options.gammas) {
            Bench bench(model, options, depth, gamma);
            for (const int streams : options.streams) {
                bench.measure(streams);
            }
        }
    }
    llama_model_free(model);
    llama_backend_free();
}
