// The C++ header with <random> and <algorithm>.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <wellspring.hpp>

static void require(bool condition, const char *what) {
    if (!condition) {
        std::fprintf(stderr, "%s\n", what);
        std::exit(1);
    }
}

template <class Generator> static void check_shuffle(Generator &&generator) {
    std::vector<int> cards(52), sorted(52);
    std::iota(cards.begin(), cards.end(), 0);
    sorted = cards;
    std::shuffle(cards.begin(), cards.end(), generator);
    require(cards != sorted, "the order is as before");
    std::sort(cards.begin(), cards.end());
    require(cards == sorted, "a card is missing");
    std::uniform_int_distribution<int> die(1, 6);
    for (int i = 0; i < 1000; i++) {
        int number = die(generator);
        require(number >= 1 && number <= 6, "no number of a die");
    }
}

int main() {
    check_shuffle(wellspring::generator());
    wellspring::local_generator local;
    check_shuffle(local);
    wellspring::local_generator moved = std::move(local);
    check_shuffle(moved);
    wellspring::stream one(2026, {3, 0, 17}), two(2026, {3, 0, 17});
    std::vector<int> first(100), second(100);
    std::iota(first.begin(), first.end(), 0);
    second = first;
    std::shuffle(first.begin(), first.end(), one);
    std::shuffle(second.begin(), second.end(), two);
    require(first == second, "two orders from one stream");
    one.seek(0);
    std::printf("%016llx\n", static_cast<unsigned long long>(one()));
    try {
        wellspring::stream wrong(1, {}, "none");
        require(false, "no exception");
    } catch (const wellspring::error &error) {
        require(error.number() == WS_NO_ALGORITHM, error.what());
    }
    // The same array, whole and in pieces, with the numbers of the functions of C.
    wellspring::elements named(2026, {3, 0, 17});
    const std::uint32_t path[] = {3, 0, 17};
    const ws_elements name = {"chacha8", 2026, 0, path, 3};
    double whole[100], pieces[100];
    require(ws_elements_normal(&name, 0, whole, 100, 1, 2) == WS_OK, "ws_elements_normal");
    named.fill(ws_elements_normal, 0, pieces, 37, 1, 2);
    named.fill(ws_elements_normal, 37, pieces + 37, 63, 1.0, 2.0f);
    require(std::equal(whole, whole + 100, pieces), "the array of C differs");
    std::int64_t dice[1000];
    named.fill(ws_elements_integers, 0, dice, 1000, 1, 6);
    require(*std::min_element(dice, dice + 1000) == 1 && *std::max_element(dice, dice + 1000) == 6, "dice");
    std::vector<double> weights = {0, 1, 0};
    named.fill(ws_elements_choice, 0, dice, 1000, weights.data(), weights.size());
    require(std::count(dice, dice + 1000, 1) == 1000, "a choice with weight 0");
    std::vector<short> shuffled(52), ordered(52);
    std::iota(shuffled.begin(), shuffled.end(), short(0));
    ordered = shuffled;
    named.shuffle(shuffled.data(), shuffled.size());
    require(shuffled != ordered && std::is_permutation(shuffled.begin(), shuffled.end(), ordered.begin()), "shuffle");
    try {
        named.fill(ws_elements_gamma, 0, pieces, 1, -1, 1);
        require(false, "no exception");
    } catch (const wellspring::error &error) {
        require(error.number() == WS_PARAMETER, error.what());
    }
    unsigned char key[32];
    wellspring::fill(key, sizeof key);
    require(wellspring::below(1) == 0, "below");
    std::uint64_t generation = ws_generation();
    wellspring::mix(key, sizeof key);
    wellspring::reseed();
    wellspring::diverge_from_clones();
    require(ws_generation() >= generation + 2, "the generation");
    wellspring::prepare_for_sandbox();
    wellspring::fill(key, sizeof key);
}
