/* SPDX-License-Identifier: 0BSD */
/*
 * Tests a writer of a generation page: clones/generation-page.md says what a page must be.
 *
 *	cc -std=gnu11 -o conformance conformance.c
 *	./conformance write PAGE COMMAND       COMMAND, run by sh, must change the counter of PAGE
 *	./conformance read PAGE                a reader for conformance.py: a line on stdin, an answer on stdout
 *
 * One line in the Test Anything Protocol for each check. The exit status is 1 if a check failed.
 */
#include "generation_page.h"

#include <stdio.h>
#include <stdlib.h>

#define BUMPS 100

static int number, failures;

static void check(int holds, const char *what)
{
	printf("%s %d - %s\n", holds ? "ok" : "not ok", ++number, what);
	failures += !holds;
}

static int write_checks(const char *path, const char *command)
{
	struct stat before, after;
	const uint64_t *counter;
	uint64_t seen[BUMPS + 1];
	int are_distinct = 1, have_run = 1, is_known;

	have_run = system(command) == 0;
	check(have_run, "the command succeeds, also where no page was");
	counter = generation_page_map(path);
	check(counter != NULL, "a reader believes the page: kind, owner, mode, size, magic number, flag");
	if (!counter || !have_run || stat(path, &before))
		return 1;
	check((before.st_mode & 0444) == 0444, "all users can read the page");
	check(before.st_size == 4096, "the file has 4096 bytes");
	seen[0] = generation_page_count(counter);
	for (int i = 1; i <= BUMPS; i++) {
		have_run &= system(command) == 0;
		seen[i] = generation_page_count(counter);
		for (int j = 0; j < i; j++)
			are_distinct &= seen[i] != seen[j];
	}
	check(have_run, "the command succeeds 100 times");
	check(are_distinct, "every notice gives a number that was not there before, in the page that is mapped");
	is_known = generation_page_kernel_is_done(counter);
	for (int i = 0; i <= BUMPS; i++)
		is_known |= counter[(2048 - 104) / 8] == seen[i] || counter[(2048 - 104) / 8] == ~seen[i];
	check(is_known, "the word of the kernel is 0, a number that the page had, or the inverse of one");
	check(!stat(path, &after) && before.st_ino == after.st_ino, "the page stays the same file");
	printf("1..%d\n", number);
	return failures != 0;
}

/* "none": no page that can be believed; "same", "changed": since the last line. */
static int read_page(const char *path)
{
	const uint64_t *counter = generation_page_map(path);
	uint64_t handled = counter ? generation_page_count(counter) : 0;
	char line[80];

	while (fgets(line, sizeof(line), stdin)) {
		const uint64_t now = counter ? generation_page_count(counter) : 0;

		puts(!counter ? "none" : now == handled ? "same" : "changed");
		fflush(stdout);
		handled = now;
	}
	return 0;
}

int main(int count, char **words)
{
	if (count == 4 && strcmp(words[1], "write") == 0)
		return write_checks(words[2], words[3]);
	if (count == 3 && strcmp(words[1], "read") == 0)
		return read_page(words[2]);
	fprintf(stderr, "usage: conformance write PAGE COMMAND | conformance read PAGE\n");
	return 2;
}
