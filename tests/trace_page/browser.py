# SPDX-License-Identifier: BSD-2-Clause
"""browser.py - a headless Chromium that a test drives by its DevTools protocol: a WebSocket client of the standard library alone."""
import base64
import json
import os
import select
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
HANG_SECONDS = 120


class Trouble(Exception):
    pass


def find_program():
    return next((path for path in map(shutil.which, PROGRAMS) if path), None)


class WebSocket:
    """Client side of RFC 6455: text frames, and answers to pings."""

    def __init__(self, host, port, path):
        self.socket = socket.create_connection((host, port), HANG_SECONDS)
        self.buffer = b""
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall((f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                             f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n").encode())
        while b"\r\n\r\n" not in self.buffer:
            self.fill()
        head, _, self.buffer = self.buffer.partition(b"\r\n\r\n")
        if b" 101 " not in head.split(b"\r\n")[0] + b" ":
            raise Trouble(f"no WebSocket: {head[:200]}")

    def fill(self):
        data = self.socket.recv(65536)
        if not data:
            raise Trouble("the browser has closed the connection")
        self.buffer += data

    def take(self, count):
        while len(self.buffer) < count:
            self.fill()
        data, self.buffer = self.buffer[:count], self.buffer[count:]
        return data

    def send(self, text, opcode=1):
        data = text if isinstance(text, bytes) else text.encode()
        size = len(data)
        head = bytes([0x80 | opcode])
        if size < 126:
            head += bytes([0x80 | size])
        elif size < 65536:
            head += bytes([0x80 | 126]) + struct.pack("!H", size)
        else:
            head += bytes([0x80 | 127]) + struct.pack("!Q", size)
        mask = os.urandom(4)
        whole = (mask * (size // 4 + 1))[:size]
        masked = (int.from_bytes(data, "big") ^ int.from_bytes(whole, "big")).to_bytes(size, "big")
        self.socket.sendall(head + mask + masked)

    def receive(self):
        message = b""
        while True:
            first, size = self.take(2)
            if size == 126:
                size, = struct.unpack("!H", self.take(2))
            elif size == 127:
                size, = struct.unpack("!Q", self.take(8))
            data = self.take(size)
            if first & 15 == 9:
                self.send(data, 10)
            elif first & 15 == 8:
                raise Trouble("the browser has closed the WebSocket")
            elif first & 15 < 3:
                message += data
                if first & 0x80:
                    return message.decode()


class Browser:
    def __init__(self, width=1400, height=900):
        self.folder = tempfile.mkdtemp(prefix="emu-browser.")
        self.process = subprocess.Popen(
            [find_program(), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--disable-extensions", "--disable-background-networking", "--disable-component-update", "--disable-sync",
             "--hide-scrollbars", "--force-device-scale-factor=1", "--remote-debugging-port=0", f"--user-data-dir={self.folder}",
             f"--window-size={width},{height}", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True,
            env={**os.environ, "HOME": self.folder, "LD_LIBRARY_PATH": ""})
        try:
            self.attach(width, height)
        except BaseException:
            self.close()
            raise

    def attach(self, width, height):
        self.events, self.last = [], 0
        host, port, path = self.address()
        self.web = WebSocket(host, port, path)
        target = self.call("Target.createTarget", session=None, url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", session=None, targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def address(self):
        """The browser says where it listens on its standard error."""
        said, until = b"", time.monotonic() + HANG_SECONDS
        while time.monotonic() < until:
            if not select.select([self.process.stderr], [], [], 1)[0]:
                continue
            data = os.read(self.process.stderr.fileno(), 65536)
            said += data
            for line in said.split(b"\n")[:-1]:
                if b"DevTools listening on ws://" in line:
                    where = line.decode().split("ws://")[1].strip()
                    host, _, path = where.partition("/")
                    return *host.rsplit(":", 1), "/" + path
            if not data:
                break
        raise Trouble(f"the browser does not start: {said.decode(errors='replace')[-300:]}")

    def call(self, method, session="", **params):
        self.last += 1
        message = {"id": self.last, "method": method, "params": params}
        if session == "":
            message["sessionId"] = self.session
        self.web.send(json.dumps(message))
        while True:
            answer = json.loads(self.web.receive())
            if answer.get("id") == self.last:
                if "error" in answer:
                    raise Trouble(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    def evaluate(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise Trouble(f"{expression}: {answer['exceptionDetails'].get('exception', {}).get('description')}")
        return answer["result"].get("value")

    def open(self, path):
        """Loads a file, and waits until the browser has drawn it."""
        self.events = []
        self.call("Page.navigate", url=f"file://{path}")
        while self.evaluate(f"location.pathname === {json.dumps(path)} && document.readyState") != "complete":
            pass
        self.settle()

    def settle(self):
        """Two frames: what was asked for before is drawn."""
        self.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")

    def complaints(self):
        """Errors of the console, exceptions, and requests beyond the page's own file."""
        self.settle()
        found = []
        for event in self.events:
            params = event.get("params", {})
            if event.get("method") == "Runtime.exceptionThrown":
                found.append(str(params["exceptionDetails"].get("exception", {}).get("description", params))[:300])
            elif event.get("method") == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
                found.append(f"console: {params['args']}")
            elif event.get("method") == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
                found.append(f"log: {params['entry']['text']}")
            elif event.get("method") == "Network.requestWillBeSent":
                url = params["request"]["url"]
                if not url.startswith("file:") and not url.startswith("data:") or event["params"].get("type") != "Document" \
                        and not url.startswith("data:"):
                    found.append(f"request: {url}")
        return found

    def click(self, x, y):
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
        self.settle()

    def click_on(self, selector):
        box = self.evaluate(f"(() => {{ const box = document.querySelector({json.dumps(selector)}).getBoundingClientRect();"
                            "return [box.x + box.width / 2, box.y + box.height / 2]; })()")
        self.click(*box)

    def drag(self, x0, y0, x1, y1):
        self.call("Input.dispatchMouseEvent", type="mousePressed", x=x0, y=y0, button="left", clickCount=1)
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x1, y=y1, button="left", buttons=1)
        self.call("Input.dispatchMouseEvent", type="mouseReleased", x=x1, y=y1, button="left", clickCount=1)
        self.settle()

    def wheel(self, x, y, delta):
        self.call("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=delta)
        self.settle()

    def key(self, key, **more):
        text = {"text": key} if len(key) == 1 else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, **text, **more)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, **more)
        self.settle()

    def type(self, text):
        self.call("Input.insertText", text=text)
        self.settle()

    def scheme(self, name):
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])
        self.settle()

    def screenshot(self, path):
        self.settle()
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def close(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
