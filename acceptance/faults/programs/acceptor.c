/* https://blog.cloudflare.com/the-sad-state-of-linux-socket-balancing/: two workers wait for one listening socket with epoll; the kernel
 * wakes the one that was added last, so that it gets (nearly) all connections. Fixed: a listening socket each (SO_REUSEPORT). */
#include "fault.h"
#include <netinet/in.h>
#include <netinet/tcp.h>
enum { WORKERS = 2, CONNECTIONS = 48, ROUNDS = 120 };
#ifndef EPOLLEXCLUSIVE
#define EPOLLEXCLUSIVE (1u << 28)
#endif
static struct sockaddr_in at = {.sin_family = AF_INET};

static int listen_here(void) {
    socklen_t size = sizeof at;
    int yes = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &yes, sizeof yes);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(fd, (struct sockaddr *)&at, size) || listen(fd, 64)) { perror("listen"); exit(1); }
    getsockname(fd, (struct sockaddr *)&at, &size);
    return fd;
}
static void nginx_worker(int listener) { /* a process: one event loop, keep-alive connections, 0.3 ms a request */
    prctl(PR_SET_NAME, "nginx-worker");
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int loop = epoll_create1(0), yes = 1;
    struct epoll_event e = {.events = EPOLLIN | EPOLLEXCLUSIVE, .data.fd = listener}, ready[16];
    epoll_ctl(loop, EPOLL_CTL_ADD, listener, &e);
    for (;;) {
        int n = epoll_wait(loop, ready, 16, -1);
        for (int i = 0; i < n; i++) {
            char request[64];
            int fd = ready[i].data.fd;
            if (fd == listener) {
                if ((fd = accept(listener, NULL, NULL)) < 0) continue;
                setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
                e = (struct epoll_event){.events = EPOLLIN, .data.fd = fd};
                epoll_ctl(loop, EPOLL_CTL_ADD, fd, &e);
            } else if (read(fd, request, sizeof request) > 0) {
                work_us(300);
                if (write(fd, "200 OK", 6) < 0) close(fd);
            } else close(fd);
        }
    }
}
int main(int argc, char **argv) {
    int own_sockets = is_fixed(argc, argv), listener[WORKERS], fd[CONNECTIONS];
    pid_t worker[WORKERS];
    for (int i = 0; i < WORKERS; i++) listener[i] = i == 0 || own_sockets ? listen_here() : listener[0];
    for (int i = 0; i < WORKERS; i++) if ((worker[i] = fork()) == 0) nginx_worker(listener[i]);
    for (int i = 0; i < (own_sockets ? WORKERS : 1); i++) close(listener[i]);
    prctl(PR_SET_NAME, "wrk");
    start_sides();
    sleep_ms(30);
    for (int i = 0; i < CONNECTIONS; i++) {
        fd[i] = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(fd[i], (struct sockaddr *)&at, sizeof at)) { perror("connect"); return 1; }
        sleep_ms(2);
    }
    double began = now_ms();
    for (int round = 0; round < ROUNDS; round++) { /* one request on each connection, then all answers */
        char answer[64];
        for (int i = 0; i < CONNECTIONS; i++) if (write(fd[i], "GET /", 5) != 5) return 1;
        for (int i = 0; i < CONNECTIONS; i++) if (read(fd[i], answer, sizeof answer) <= 0) return 1;
    }
    print_work(began);
    for (int i = 0; i < WORKERS; i++) { kill(worker[i], SIGKILL); waitpid(worker[i], NULL, 0); }
}
