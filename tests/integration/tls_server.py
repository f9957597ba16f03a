"""A web server with TLS on 127.0.0.1 and a port of the kernel's choice, which is the first line it prints.

usage: tls_server.py DIRECTORY CERTIFICATE KEY     serves the files below DIRECTORY
"""
import functools
import http.server
import ssl
import sys


class Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), functools.partial(Handler, directory=sys.argv[1]))
server.daemon_threads = True
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[2], sys.argv[3])
context.set_alpn_protocols(['http/1.1'])
# the handshake belongs to the connection's own thread: a client that never speaks must not hold up the others
server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
print(server.server_address[1], flush=True)
server.serve_forever()
