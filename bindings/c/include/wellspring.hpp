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
#include <type_traits>
#include <utility>
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

/// Arrays that can be repeated: element i depends on the name, the function, its parameters and i alone. Not for keys.
/// wellspring-elements.h has the functions and what they promise.
///
///     wellspring::elements weights(2026, {3, 0, 17});
///     weights.fill(ws_elements_normal, 0, numbers.data(), numbers.size(), 0, 1);
class elements {
public:
    explicit elements(std::uint64_t seed, std::vector<std::uint32_t> path = {}, std::string algorithm = "chacha8")
        : seed_(seed), path_(std::move(path)), algorithm_(std::move(algorithm)) {}

    /// Writes the elements first to first + count - 1 of the array of this function to out.
    template <class Number, class... Kinds, class... Parameters>
    void fill(int (*function)(const ws_elements *, std::uint64_t, Number *, std::size_t, Kinds...), std::uint64_t first,
              Number *out, std::size_t count, Parameters... parameters) const {
        static_assert(sizeof...(Kinds) == sizeof...(Parameters), "the function has another number of parameters");
        const ws_elements name = this->name();
        detail::check(function(&name, first, out, count, static_cast<Kinds>(parameters)...));
    }

    /// Brings items that memcpy may move into a random order. The order depends on the name and on their number alone.
    template <class Item> void shuffle(Item *items, std::size_t count) const {
        static_assert(std::is_trivially_copyable_v<Item>, "memcpy must be able to move an item");
        const ws_elements name = this->name();
        detail::check(ws_elements_shuffle(&name, items, count, sizeof(Item)));
    }

private:
    ws_elements name() const noexcept { return {algorithm_.c_str(), seed_, 0, path_.data(), path_.size()}; }

    std::uint64_t seed_;
    std::vector<std::uint32_t> path_;
    std::string algorithm_;
};

} // namespace wellspring

#endif
