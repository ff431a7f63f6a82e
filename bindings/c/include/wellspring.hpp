// wellspring for C++17: generators for <random> and <algorithm>. Header only; link with -lwellspring.
//
// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef WELLSPRING_HPP
#define WELLSPRING_HPP

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "wellspring.h"

namespace wellspring {

/// An error number of the library.
class error : public std::runtime_error {
public:
    explicit error(int number) : std::runtime_error(ws_strerror(number)), number_(number) {}

    int number() const noexcept { return number_; }

private:
    int number_;
};

namespace detail {

inline void check(int number) {
    if (number != WS_OK) {
        throw error(number);
    }
}

/// The members that make a class a UniformRandomBitGenerator, apart from the call.
struct words {
    using result_type = std::uint64_t;

    static constexpr result_type min() noexcept { return 0; }
    static constexpr result_type max() noexcept { return std::numeric_limits<result_type>::max(); }
};

} // namespace detail

/// Writes length random bytes, fit for keys, to destination.
inline void fill(void *destination, std::size_t length) {
    detail::check(ws_fill(destination, length));
}

/// Returns a number from 0 to count - 1, each equally likely, and 0 if count is 0.
inline std::uint64_t below(std::uint64_t count) noexcept { return ws_below(count); }

/// Reseeds the generator of the process now: see ws_reseed(3).
inline void reseed() { detail::check(ws_reseed()); }

/// Hashes data into the pools of noise, without credit: see ws_mix(3).
inline void mix(const void *data, std::size_t length) { detail::check(ws_mix(data, length)); }

/// Separates this process from all copies of it and of its machine, after it was restored from one: see
/// ws_diverge_from_clones(3).
inline void diverge_from_clones() { detail::check(ws_diverge_from_clones()); }

/// After this, no read makes a system call: see ws_prepare_for_sandbox(3).
inline void prepare_for_sandbox() { detail::check(ws_prepare_for_sandbox()); }

/// A UniformRandomBitGenerator that draws from the calling thread's generator. It has no data: any thread may use any
/// copy.
///
///     std::shuffle(cards.begin(), cards.end(), wellspring::generator());
class generator : public detail::words {
public:
    result_type operator()() const noexcept { return ws_u64(); }
};

/// A UniformRandomBitGenerator with its own key and buffer, for hot loops. One thread at a time may use it.
class local_generator : public detail::words {
public:
    local_generator() {
        ws_rng *made = nullptr;
        detail::check(ws_rng_new(&made));
        rng_.reset(made);
    }

    result_type operator()() noexcept { return ws_rng_u64(rng_.get()); }

    void fill(void *destination, std::size_t length) {
        detail::check(ws_rng_fill(rng_.get(), destination, length));
    }

private:
    struct release {
        void operator()(ws_rng *rng) const noexcept { ws_rng_free(rng); }
    };

    std::unique_ptr<ws_rng, release> rng_;
};

/// A UniformRandomBitGenerator whose numbers can be repeated: not for keys. The same algorithm, seed and path give the
/// same words on every machine.
class stream : public detail::words {
public:
    explicit stream(std::uint64_t seed, const std::vector<std::uint32_t> &path = {},
                    const std::string &algorithm = "chacha8") {
        ws_stream *made = nullptr;
        detail::check(
            ws_stream_new(&made, algorithm.c_str(), seed, 0, path.data(), path.size()));
        stream_.reset(made);
    }

    result_type operator()() noexcept { return ws_stream_u64(stream_.get()); }

    void fill(void *destination, std::size_t length) {
        detail::check(ws_stream_fill(stream_.get(), destination, length));
    }

    /// Goes to a byte, counted from 0.
    void seek(std::uint64_t position) { detail::check(ws_stream_seek(stream_.get(), position, 0)); }

private:
    struct release {
        void operator()(ws_stream *stream) const noexcept { ws_stream_free(stream); }
    };

    std::unique_ptr<ws_stream, release> stream_;
};

} // namespace wellspring

#endif
