// Writes the numbers of the header in the order of its arguments, as bytes: KIND SEED FIRST LENGTH, and then the path.
#include "../wellspring_chacha8.cuh"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

using namespace wellspring;

template <typename Number> static void write(Number number) { std::fwrite(&number, sizeof number, 1, stdout); }

int main(int count, char **words) {
    if (count < 5) return 2;
    const std::string kind = words[1];
    const u64 seed = std::strtoull(words[2], nullptr, 10), first = std::strtoull(words[3], nullptr, 10),
              length = std::strtoull(words[4], nullptr, 10);
    std::vector<u32> path;
    for (int i = 5; i < count; i++) path.push_back(u32(std::strtoul(words[i], nullptr, 10)));
    const Key key = key_of(seed, path.data(), int(path.size()));
    static double edges[LAYERS + 1];
    make_edges(edges);
    for (u64 i = 0; i < length; i++) {
        const u64 index = first + i;
        if (kind == "word32") write(word32(key, index));
        else if (kind == "word64") write(word64(key, index));
        else if (kind == "uniform32") write(uniform32(key, index));
        else if (kind == "uniform64") write(uniform64(key, index));
        else if (kind == "normal32") write(float(normal(key, index, edges)));
        else if (kind == "normal64") write(normal(key, index, edges));
        else return 2;
    }
}
