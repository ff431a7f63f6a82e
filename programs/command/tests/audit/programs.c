/* Small programs that draw random numbers well or badly: the first argument names one. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char *self;
static unsigned short state[3];

static unsigned fresh(void)
{
	unsigned seed;

	if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
		abort();
	return seed;
}

static void draw(void) { printf("%ld\n", random()); fflush(stdout); }
static void draw48(void) { printf("%f\n", erand48(state)); fflush(stdout); }
static void seeded_draw(void) { srandom(fresh()); draw(); }
static void nothing(void) { }

static void end_child(void (*work)(void)) { work(); _exit(0); }

static void fork_and(void (*child)(void), void (*parent)(void))
{
	if (fork() == 0)
		end_child(child);
	parent();
	wait(NULL);
}

static void *draw_by_time(void *unused)
{
	unsigned seed = (unsigned)time(NULL);

	rand_r(&seed);
	return unused;
}

static void *draw_by_fresh(void *unused)
{
	unsigned seed = fresh();

	rand_r(&seed);
	rand();
	return unused;
}

static void threads(void *(*work)(void *))
{
	pthread_t both[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&both[i], NULL, work, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(both[i], NULL);
}

static void *draw_much(void *unused)
{
	for (int i = 0; i < 500; i++)
		random();
	return unused;
}

static void threads_and_forks(void)
{
	pthread_t four[4];

	srandom(fresh());
	for (int i = 0; i < 4; i++)
		pthread_create(&four[i], NULL, draw_much, NULL);
	for (int i = 0; i < 8; i++)
		fork_and(seeded_draw, nothing);
	for (int i = 0; i < 4; i++)
		pthread_join(four[i], NULL);
}

static void vfork_exec(const char *what)
{
	if (vfork() == 0) {
		execl(self, self, what, NULL);
		_exit(127);
	}
	wait(NULL);
}

int main(int count, char **words)
{
	const char *what = count > 1 ? words[1] : "";

	self = words[0];
	/* Bad. */
	if (!strcmp(what, "unseeded")) {
		draw();
	} else if (!strcmp(what, "time")) {
		srand(time(NULL));
		draw();
	} else if (!strcmp(what, "pid")) {
		srand48(getpid());
		printf("%f\n", drand48());
	} else if (!strcmp(what, "fork")) {
		srandom(fresh());
		fork_and(draw, draw);
	} else if (!strcmp(what, "two-children")) {
		srandom(fresh());
		draw();
		fork_and(draw, nothing);
		fork_and(draw, nothing);
	} else if (!strcmp(what, "fork-erand48")) {
		getrandom(state, sizeof(state), 0);
		fork_and(draw48, draw48);
	} else if (!strcmp(what, "grandchild")) {
		srandom(fresh());
		if (fork() == 0) {
			fork_and(draw, nothing);
			_exit(0);
		}
		wait(NULL);
		draw();
	} else if (!strcmp(what, "clone")) {
		srandom(fresh());
		if (syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) == 0)
			end_child(draw);
		draw();
		wait(NULL);
	} else if (!strcmp(what, "clone3")) {
		unsigned long long arguments[8] = { [4] = SIGCHLD };

		srandom(fresh());
		if (syscall(SYS_clone3, arguments, sizeof(arguments)) == 0)
			end_child(draw);
		draw();
		wait(NULL);
	} else if (!strcmp(what, "threads-by-time")) {
		threads(draw_by_time);
	} else if (!strcmp(what, "vfork-exec")) {
		vfork_exec("unseeded");
	} else if (!strcmp(what, "exec")) {
		execl(self, self, "time", NULL);
	} else if (!strcmp(what, "many-draws")) {
		srandom(fresh());
		for (int i = 0; i < 5000; i++)
			random();
		fork_and(draw, draw);
	} else if (!strcmp(what, "notice")) {
		srandom(fresh());
		draw();
		if (system(words[2]))
			abort();
		draw();
	/* Good. */
	} else if (!strcmp(what, "notice-and-seed")) {
		srandom(fresh());
		draw();
		if (system(words[2]))
			abort();
		seeded_draw();
	} else if (!strcmp(what, "getrandom")) {
		fork_and((void (*)(void))fresh, (void (*)(void))fresh);
	} else if (!strcmp(what, "seeded")) {
		seeded_draw();
	} else if (!strcmp(what, "fork-and-seed")) {
		srandom(fresh());
		draw();
		fork_and(seeded_draw, draw);
	} else if (!strcmp(what, "child-alone")) {
		srandom(fresh());
		draw();
		fork_and(draw, nothing);
	} else if (!strcmp(what, "threads")) {
		srand(fresh());
		threads(draw_by_fresh);
	} else if (!strcmp(what, "threads-and-forks")) {
		threads_and_forks();
	} else if (!strcmp(what, "vfork-exec-seeded")) {
		srandom(fresh());
		draw();
		vfork_exec("seeded");
		draw();
	} else if (!strcmp(what, "fork-erand48-seeded")) {
		getrandom(state, sizeof(state), 0);
		draw48();
		if (fork() == 0) {
			getrandom(state, sizeof(state), 0);
			end_child(draw48);
		}
		draw48();
		wait(NULL);
	} else {
		return 2;
	}
	return 0;
}
