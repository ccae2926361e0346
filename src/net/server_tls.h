// The server's side of TLS in terms of OpenSSL alone. Private to net; any thread.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "net/server.h"

typedef struct ssl_st SSL;
typedef struct ssl_ctx_st SSL_CTX;

namespace berth::net {

// TLS 1.2 or newer with this certificate. With `client_ca_pem`, clients are asked for a
// certificate; one that the authorities did not sign ends the handshake, none at all is fine.
Result<std::shared_ptr<SSL_CTX>> make_server_tls(const ServerCertificate& certificate,
                                                 const std::string& client_ca_pem);

// Adds what the client's certificate says, if it showed one. Only verified ones get this far.
void identify_peer(const SSL* connection, Peer& peer);

}  // namespace berth::net
