"""A provider in a process of its own that counts the requests which reach it whole. `GET /count` tells how many.

It answers in a few pieces, after odd times, and hangs up on some.
"""

import asyncio
import random
import sys

DICE = random.Random(11)
EVENTS = [b'data: {"choices":[{"index":0,"delta":{"content":"word %d"}}]}\n\n' % number for number in range(5)]
END = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    global count
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            if head.startswith(b"GET "):
                text = str(count).encode()
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(text), text))
                continue
            await reader.readexactly(int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0]))
            count += 1
            if not await answer(writer):
                return
    except (asyncio.IncompleteReadError, ConnectionError):
        return
    finally:
        writer.close()


async def answer(writer: asyncio.StreamWriter) -> bool:
    await asyncio.sleep(DICE.random() * 0.02)
    if DICE.random() < 0.1:
        return False
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
    for event in (*EVENTS, END):
        writer.write(b"%x\r\n%b\r\n" % (len(event), event))
        await writer.drain()
        await asyncio.sleep(DICE.random() * 0.004)
    writer.write(b"0\r\n\r\n")
    return True


async def main() -> None:
    server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=1024)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


count = 0

if __name__ == "__main__":
    asyncio.run(main())
