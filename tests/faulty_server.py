"""A local HTTP server that misbehaves as asked."""

import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Server:
    """Serves ``content``; ``plan`` names a fault for each request, after its end none."""

    def __init__(self, content, plan=(), etag='"1"', ranges=True):
        self.content = content
        self.plan = list(plan)
        self.etag = etag
        self.ranges = ranges
        self.asked = []  # the Range header of each request


@contextmanager
def serving(server):
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            server.asked.append(self.headers.get("Range"))
            fault = server.plan.pop(0) if server.plan else ""
            if fault == "redirect":
                self.send_response(302)
                self.send_header("Location", "/elsewhere/file.bin")
                self.end_headers()
                return
            if fault == "loop":
                server.plan.insert(0, "loop")
                self.send_response(302)
                self.send_header("Location", self.path)
                self.end_headers()
                return
            if fault.isdigit():
                self.send_error(int(fault))
                return
            if fault == "page":
                body = b"<!DOCTYPE html><html>Please sign in</html>"
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
                return
            content = server.content[::-1] if fault == "wrong" else server.content
            start = 0
            wanted = self.headers.get("Range")
            if wanted and server.ranges and self.headers.get("If-Range") == server.etag:
                start = int(wanted.removeprefix("bytes=").rstrip("-"))
                self.send_response(206)
                end = len(content) - 1
                self.send_header("Content-Range", f"bytes {start}-{end}/{len(content)}")
            else:
                self.send_response(200)
            if fault == "no length":
                fault = "truncate"
            else:
                self.send_header("Content-Length", str(len(content) - start))
            if server.etag:
                self.send_header("ETag", server.etag)
            self.end_headers()
            body = content[start:]
            if fault in ("truncate", "stall"):
                body = body[: len(body) // 2]
            self.wfile.write(body)
            self.wfile.flush()
            if fault == "stall":
                time.sleep(1.5)

        def log_message(self, *arguments):
            pass

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    httpd.daemon_threads = True
    threading.Thread(target=httpd.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{httpd.server_port}"
    finally:
        httpd.shutdown()
        httpd.server_close()
