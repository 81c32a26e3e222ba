import { redirect } from "next/navigation";
import { connection } from "next/server";
import { Workspace } from "./workspace";

/** The conversation's id is in the address, so that a reload goes on where it was. */
export default async function Page({ searchParams }: { searchParams: Promise<{ chat?: string }> }) {
  await connection(); // the agent's address is read when the page is asked for, not when it is built
  const { chat } = await searchParams;
  if (!chat) redirect(`/?chat=${crypto.randomUUID()}`);
  return <Workspace url={process.env.QWESTLY_AGENT_URL ?? "http://localhost:8000"} chat={chat} />;
}
