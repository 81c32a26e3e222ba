/** Drives the published AG-UI client as a page does. One command a line on stdin, one answer a line on stdout. */
import { createInterface } from "node:readline";
import { HttpAgent } from "@ag-ui/client";

const agents = new Map();

async function run(page, parameters) {
  const agent = agents.get(page);
  const events = [];
  let error = null;
  try {
    await agent.runAgent(parameters, {
      onEvent: ({ event }) => void events.push(event),
      onRunFailed: (failed) => void (error = String(failed.error?.message ?? failed.error)),
    });
  } catch (thrown) {
    error ??= String(thrown?.message ?? thrown);
  }
  return { events, error, messages: agent.messages, pending: agent.pendingInterrupts };
}

const commands = {
  open({ page, url, token, threadId }) {
    agents.set(page, new HttpAgent({ url: `${url}/api/chat`, headers: { Authorization: `Bearer ${token}` }, threadId }));
  },
  say({ page, message, ...parameters }) {
    agents.get(page).addMessage({ id: crypto.randomUUID(), role: "user", content: message });
    return run(page, parameters);
  },
  resume: ({ page, resume }) => run(page, { resume }),
  hangUp: ({ page }) => agents.get(page).abortRun(),
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
