/* https://github.com/MaterializeInc/materialize/pull/326: the server sends each answer in two small segments without TCP_NODELAY.
 * Nagle's algorithm keeps the second until the first is acknowledged; the client's kernel delays that acknowledgement by 40 ms. */
#include "fault.h"
#include <netinet/in.h>
#include <netinet/tcp.h>
enum { QUERIES = 55 };
static int listener;

static void *serve(void *arg) {
    int yes = 1, connection = accept(listener, NULL, NULL);
    if (arg) setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    char query[64], row[200] = {0};
    while (read(connection, query, sizeof query) > 0) {
        work_us(9000); /* executes */
        if (write(connection, row, 30) < 0 /* RowDescription */ || write(connection, row, 120) < 0 /* DataRow, CommandComplete */) break;
    }
    close(connection);
    return arg;
}
int main(int argc, char **argv) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof to;
    listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&to, size) || listen(listener, 1)) { perror("listen"); return 1; }
    getsockname(listener, (struct sockaddr *)&to, &size);
    prctl(PR_SET_NAME, "client");
    start_sides();
    pthread_t server = start("server", serve, is_fixed(argc, argv) ? (void *)1 : NULL);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, (struct sockaddr *)&to, size)) { perror("connect"); return 1; }
    double began = now_ms();
    for (int i = 0; i < QUERIES; i++) {
        char answer[200];
        if (write(fd, "SELECT 1", 9) != 9) return 1;
        for (ssize_t got = 0, n; got < 150; got += n) if ((n = read(fd, answer, sizeof answer)) <= 0) return 1;
        work_us(6000); /* uses the rows */
    }
    print_work(began);
    close(fd);
    pthread_join(server, NULL);
}
