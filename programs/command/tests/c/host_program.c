/* Draws once by a door, and prints what a program can see of itself before and after.
 * host_program DOOR LIBRARY: DOOR is none, getrandom, openssl or c; LIBRARY is loaded for the last. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

static void print_state(const char *when)
{
	char line[256];
	FILE *status = fopen("/proc/self/status", "r");

	while (status && fgets(line, sizeof line, status))
		if (!strncmp(line, "Threads", 7) || !strncmp(line, "Sig", 3) || !strncmp(line, "VmLck", 5) ||
		    !strncmp(line, "Cap", 3) || !strncmp(line, "NoNewPrivs", 10) || !strncmp(line, "Seccomp:", 8))
			printf("%s %s", when, line);
	if (status)
		fclose(status);
	DIR *folder = opendir("/proc/self/fd");
	for (struct dirent *entry; folder && (entry = readdir(folder));)
		if (entry->d_name[0] != '.' && atoi(entry->d_name) != dirfd(folder))
			printf("%s descriptor: %s\n", when, entry->d_name);
	if (folder)
		closedir(folder);
	for (char **variable = environ; *variable; variable++)
		printf("%s environment: %.*s\n", when, (int)strcspn(*variable, "="), *variable);
}

int main(int argc, char **argv)
{
	unsigned char bytes[32] = { 0 };
	int (*fill)(void *, size_t) = NULL;
	int (*rand_bytes)(unsigned char *, int) = NULL;
	int is_drawn = 1;

	if (argc < 2)
		return 2;
	if (!strcmp(argv[1], "c") || !strcmp(argv[1], "openssl")) {
		void *library = dlopen(argv[2], RTLD_NOW);

		if (!library)
			return fprintf(stderr, "%s\n", dlerror()), 2;
		*(void **)&fill = dlsym(library, "ws_fill");
		*(void **)&rand_bytes = dlsym(library, "RAND_bytes");
	}
	print_state("before");
	fflush(stdout);
	/* What stands between these two lines in a trace is the first read. */
	if (write(1, "first read\n", 11) < 0)
		return 2;
	if (!strcmp(argv[1], "getrandom"))
		is_drawn = getrandom(bytes, sizeof bytes, 0) == sizeof bytes;
	else if (rand_bytes)
		is_drawn = rand_bytes(bytes, sizeof bytes) == 1;
	else if (fill)
		is_drawn = fill(bytes, sizeof bytes) == 0;
	if (write(1, "it has ended\n", 13) < 0 || !is_drawn)
		return 1;
	print_state("after");
	return 0;
}
