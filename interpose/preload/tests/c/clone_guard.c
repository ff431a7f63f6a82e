// Two copies of a process, as on cloned machines: what each draws after the page has changed.
//
// usage: PROGRAM PAGE HOW, where HOW is
//   threads prints how many threads there are, and ends: an emulator has its own
//   copies  draws at once
//   seeds   takes a seed and draws
//   comes   there is no page yet; waits until a draw is not the next one of the seed
// Prints a line for each copy. ALONE in the environment is what `threads` prints without the library.
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void expect(int is_so, const char *what) {
    if (!is_so) {
        perror(what);
        exit(1);
    }
}

// A guard that healed one call alone would leave the others as they were: each is the first of a copy.
static void draw(char *line, const char *seeded) {
    static long (*const draws[])(void) = {random, lrand48, mrand48};
    static const char *const names[] = {"random", "lrand48", "mrand48"};
    unsigned short seed[3] = {1, 2, 3}, parameters[7] = {1, 2, 3, 4, 5, 6, 7};
    char state[64];
    if (strcmp(seeded, "seeds") == 0) {
        srand(7), line += sprintf(line, "srand=%d ", rand());
        srandom(7), line += sprintf(line, "srandom=%ld ", random());
        srand48(7), line += sprintf(line, "srand48=%ld ", lrand48());
        seed48(seed), line += sprintf(line, "seed48=%ld ", lrand48());
        lcong48(parameters), line += sprintf(line, "lcong48=%ld ", lrand48());
        initstate(7, state, sizeof state), line += sprintf(line, "initstate=%ld ", random());
    } else {
        line += sprintf(line, "rand=%d drand48=%.17g ", rand(), drand48());
        for (int i = 0; i < 3; i++)
            line += sprintf(line, "%s=%ld ", names[i], draws[i]());
    }
    strcpy(line - 1, "\n");
}

static void change(const char *page) {
    uint64_t number;
    int file = open(page, O_RDWR);
    expect(file >= 0 && pread(file, &number, 8, 104) == 8, page);
    number++;
    expect(pwrite(file, &number, 8, 104) == 8, page);
    close(file);
}

static int threads(void) {
    int count = 0;
    DIR *folder = opendir("/proc/self/task");
    while (folder && readdir(folder))
        count++;
    closedir(folder);
    return count - 2;
}

static const struct timespec moment = {.tv_nsec = 1000000};

// At most two minutes: only a failed test takes as long.
static void until_it_differs(void) {
    char expected[64], state[256] = {0};
    struct random_data data = {0};
    expect(initstate_r(2026, state, sizeof state, &data) == 0, "initstate_r");
    initstate(2026, calloc(1, 256), 256);
    for (int i = 0; i < 120000; i++) {
        int32_t next;
        random_r(&data, &next);
        if (random() != next)
            return;
        nanosleep(&moment, NULL);
    }
    snprintf(expected, sizeof expected, "%d", 120000);
    expect(0, expected);
}

int main(int count, char **words) {
    char line[512], temporary[4096];
    if (count != 3)
        return 2;
    int comes = strcmp(words[2], "comes") == 0;
    if (strcmp(words[2], "threads") == 0)
        return printf("%d\n", threads()) < 0;
    const char *alone = getenv("ALONE");
    expect(alone && atoi(alone) > 0, "ALONE");
    srand(2026);
    srand48(2026);
    // The sequence of a seed, with a guard and without.
    char state[128] = {0};
    struct random_data data = {0};
    int32_t next;
    expect(initstate_r(2026, state, sizeof state, &data) == 0, "initstate_r");
    for (int i = 0; i < 1000; i++)
        expect(random_r(&data, &next) == 0 && rand() == next, "srand(2026)");
    expect(threads() == atoi(alone), "threads");
    pid_t children[2];
    int go[2];
    expect(pipe(go) == 0, "pipe");
    for (int copy = 0; copy < 2; copy++) {
        children[copy] = fork();
        if (children[copy] == 0) {
            expect(read(go[0], line, 1) == 1, "read");
            if (comes)
                until_it_differs();
            draw(line, words[2]);
            expect(write(1, line, strlen(line)) > 0, "write");
            expect(threads() == atoi(alone), "threads");
            _exit(0);
        }
    }
    if (comes) {
        snprintf(temporary, sizeof temporary, "%s.later", words[1]);
        expect(rename(temporary, words[1]) == 0, "rename");
    } else {
        change(words[1]);
    }
    expect(write(go[1], "go", 2) == 2, "write");
    for (int copy = 0; copy < 2; copy++) {
        int status;
        expect(children[copy] > 0 && waitpid(children[copy], &status, 0) == children[copy] && status == 0, "copy");
    }
    return 0;
}
