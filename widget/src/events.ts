/** Server-sent events of a turn. */

import { ChatError } from "./errors.ts";
import { orCut } from "./network.ts";
import { strings } from "./strings.ts";

const TEXT = "text_delta";

export interface StreamEvent { name: string; data: any }

/** Reads server-sent events as {name, data}. Ends with the stream, even if that was incomplete. */
export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<StreamEvent> {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader(); // joins characters split over chunks
  let buffer = "";
  try {
    for (;;) {
      const { done, value } = await orCut(reader.read());
      if (done) return;
      const blocks = (buffer + value).split(/\r\n\r\n|\n\n|\r\r/);
      buffer = blocks.pop() ?? "";
      yield* joinedEvents(blocks);
    }
  } finally {
    reader.cancel().catch(() => {}); // already failed or finished: ignore
  }
}

/** The events of blocks that arrived together. Consecutive text is joined into one event, because each event is rendered. */
function* joinedEvents(blocks: string[]): Generator<StreamEvent> {
  let held: StreamEvent | null = null;
  try {
    for (const block of blocks) {
      const event = parseEvent(block);
      if (!event) continue;
      if (held?.name === TEXT && event.name === TEXT) held.data.content += event.data.content;
      else {
        if (held) yield held;
        held = event;
      }
    }
  } finally {
    if (held) yield held; // also before the error of a block that cannot be read
  }
}

/** Returns null for a block without data: a keep-alive comment. */
function parseEvent(block: string): StreamEvent | null {
  let name = "message";
  const data: string[] = [];
  for (const line of block.split(/\r\n|\n|\r/)) {
    const [, field, value = ""] = /^([^:]*):? ?(.*)$/.exec(line) ?? [];
    if (field === "event") name = value;
    if (field === "data") data.push(value);
  }
  if (data.length === 0) return null;
  try {
    return { name, data: JSON.parse(data.join("\n")) };
  } catch {
    throw new ChatError("network", strings.network.cut);
  }
}
