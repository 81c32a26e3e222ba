/**
 * Drives the published `ai` package as React's `useChat` does: the same chat class over the same transport, with a plain
 * state in place of React's. One command a line on stdin, one answer a line on stdout. Its argument is the package.
 */
import { createInterface } from "node:readline";

const { AbstractChat, DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses, validateUIMessages } = await import(process.argv[2]);

class State {
  status = "ready";
  error = undefined;
  #messages;
  #watchers = new Set();

  constructor(messages) {
    this.#messages = messages;
  }

  get messages() {
    return this.#messages;
  }

  set messages(messages) {
    this.#messages = [...messages];
    this.#tell();
  }

  pushMessage = (message) => {
    this.messages = [...this.#messages, message];
  };

  popMessage = () => {
    this.messages = this.#messages.slice(0, -1);
  };

  replaceMessage = (index, message) => {
    this.messages = this.#messages.with(index, this.snapshot(message));
  };

  snapshot = (value) => structuredClone(value);

  until(condition) {
    return new Promise((resolve) => {
      const check = () => {
        if (!condition(this.#messages)) return;
        this.#watchers.delete(check);
        resolve();
      };
      this.#watchers.add(check);
      check();
    });
  }

  #tell() {
    for (const check of this.#watchers) check();
  }
}

/** Notes what it reads, after the package has checked it against its schema. */
class Transport extends DefaultChatTransport {
  chunks = [];

  processResponseStream(stream) {
    const note = (chunk, controller) => {
      this.chunks.push(chunk);
      controller.enqueue(chunk);
    };
    return super.processResponseStream(stream).pipeThrough(new TransformStream({ transform: note }));
  }
}

class Chat extends AbstractChat {
  constructor({ id, url, token, messages, automatic, adapter, body }) {
    const state = new State(messages);
    const headers = () => ({ Authorization: `Bearer ${this.token}`, ...(adapter && { "x-amzn-lambda-context": "{}" }) });
    const transport = new Transport({ api: `${url}/api/chat`, headers, body });
    const sendAutomaticallyWhen = automatic ? lastAssistantMessageIsCompleteWithApprovalResponses : undefined;
    super({ id, state, transport, sendAutomaticallyWhen, onFinish: (finish) => this.#onFinish(finish) });
    Object.assign(this, { token, noted: transport, until: state.until.bind(state) });
  }

  #onFinish(finish) {
    this.finish = finish;
    this.finished?.();
  }

  /** The user's answer to an approval, and what is sent by itself because of it. */
  async answer(approval, sends) {
    const finished = new Promise((resolve) => (this.finished = resolve));
    await this.addToolApprovalResponse(approval);
    if (sends) await finished;
  }

  async seen(request) {
    this.noted.chunks = [];
    this.finish = undefined;
    await request;
    if (this.messages.length) await validateUIMessages({ messages: this.messages });
    const { status, error, messages, noted, finish } = this;
    return { status, error: error?.message ?? null, messages, chunks: noted.chunks, aborted: finish?.isAbort ?? false };
  }
}

const textOf = (message) => message?.parts.map((part) => part.text ?? "").join("") ?? "";
const pages = new Map();
const commands = {
  async open({ page, ...given }) {
    if (given.messages.length) await validateUIMessages({ messages: given.messages });
    pages.set(page, new Chat(given));
  },
  signIn: ({ page, token }) => void (pages.get(page).token = token),
  send: ({ page, message }) => pages.get(page).seen(pages.get(page).sendMessage(message)),
  regenerate: ({ page, messageId }) => pages.get(page).seen(pages.get(page).regenerate({ messageId })),
  answer: ({ page, approval, sends }) => pages.get(page).seen(pages.get(page).answer(approval, sends)),
  resume: ({ page }) => pages.get(page).seen(pages.get(page).sendMessage()),
  takeUp: ({ page }) => pages.get(page).seen(pages.get(page).resumeStream()),
  hangUp: ({ page }) => pages.get(page).stop(),
  untilSaid: ({ page, text }) => pages.get(page).until((messages) => textOf(messages.at(-1)).includes(text)),
};

createInterface({ input: process.stdin }).on("line", async (line) => {
  const { number, command, ...given } = JSON.parse(line);
  let answer;
  try {
    answer = { number, result: (await commands[command](given)) ?? null };
  } catch (error) {
    answer = { number, failure: String(error?.stack ?? error) };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
});
