// A process and its child set their user: glibc sends each thread of a process a signal for it, and waits for the answers.
// Ends by SIGALRM if a thread does not answer within a minute.
#include <sys/wait.h>
#include <unistd.h>

static int set_user(void) {
    alarm(60);
    return setgid(getgid()) != 0 || setuid(getuid()) != 0;
}

int main(void) {
    if (set_user())
        return 1;
    pid_t child = fork();
    if (child == 0)
        _exit(set_user());
    int status;
    return child < 0 || waitpid(child, &status, 0) != child || status != 0;
}
