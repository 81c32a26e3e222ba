/** To be replaced by your session: who is signed in, or nobody. */
export async function signedInUser(): Promise<{ id: string; email: string; name: string } | null> {
  return { id: process.env.EXAMPLE_USER_ID ?? "auth0|demo", email: "maya@example.com", name: "Maya Okafor" };
}
