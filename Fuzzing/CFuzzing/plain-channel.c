// TLS without TLS: what Sources/HTTP2Client/TLSChannel.swift calls of OpenSSL while it moves bytes, over the bare socket.
// The fuzzer's program is linked with these before OpenSSL, so that it can speak HTTP/2 to the whole of the room, and
// spends its time there and not on handshakes.

#include <errno.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

static _Thread_local int last_error;

int SSL_do_handshake(SSL *ssl) {
    (void)ssl;
    return 1;
}

void SSL_get0_alpn_selected(const SSL *ssl, const unsigned char **name, unsigned int *length) {
    (void)ssl;
    *name = (const unsigned char *)"h2";
    *length = 2;
}

int SSL_read(SSL *ssl, void *buffer, int count) {
    ssize_t done = recv(SSL_get_fd(ssl), buffer, (size_t)count, 0);
    last_error = done == 0 ? SSL_ERROR_ZERO_RETURN : errno == EAGAIN ? SSL_ERROR_WANT_READ : SSL_ERROR_SYSCALL;
    return (int)done;
}

int SSL_write(SSL *ssl, const void *buffer, int count) {
    ssize_t done = send(SSL_get_fd(ssl), buffer, (size_t)count, MSG_NOSIGNAL);
    last_error = errno == EAGAIN ? SSL_ERROR_WANT_WRITE : SSL_ERROR_SYSCALL;
    return (int)done;
}

int SSL_has_pending(const SSL *ssl) {
    (void)ssl;
    return 0;
}

int SSL_get_error(const SSL *ssl, int code) {
    (void)ssl;
    return code > 0 ? SSL_ERROR_NONE : last_error;
}

int SSL_shutdown(SSL *ssl) {
    (void)ssl;
    return 1;
}
