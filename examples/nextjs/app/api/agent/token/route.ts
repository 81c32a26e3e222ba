import jwt from "jsonwebtoken";
import { signedInUser } from "../../../signed-in-user";

/** A token of five minutes for the user who is signed in. The secret never leaves the server. */
export async function GET(): Promise<Response> {
  const secret = process.env.QWESTLY_AGENT_SHARED_SECRET;
  if (!secret) throw new Error("QWESTLY_AGENT_SHARED_SECRET is missing.");
  const user = await signedInUser();
  if (!user) return Response.json({ error: "Nobody is signed in." }, { status: 401 });
  const claims = { user_id: user.id, email: user.email, name: user.name };
  const token = jwt.sign(claims, secret, { algorithm: "HS256", expiresIn: "5m" });
  return Response.json({ token }, { headers: { "Cache-Control": "no-store" } });
}
