// A Mersenne Twister of C++ in two processes; with an argument the child seeds it again.
#include <cstdio>
#include <random>
#include <sys/wait.h>
#include <unistd.h>

int main(int count, char **)
{
	std::random_device device("/dev/urandom");
	std::mt19937 twister(device());

	std::printf("%lu\n", (unsigned long)twister());
	std::fflush(stdout);
	if (fork() == 0) {
		if (count > 1)
			twister.seed(device());
		std::printf("%lu\n", (unsigned long)twister());
		std::fflush(stdout);
		_exit(0);
	}
	std::printf("%lu\n", (unsigned long)twister());
	wait(nullptr);
}
