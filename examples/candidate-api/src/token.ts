/** Whose data: the `sub` of a token that the agent signed. */
import { jwtVerify, type JWTPayload } from "jose";
import { Refusal } from "./errors.js";

const LIFE_SECONDS = 60;
const CLOCK_SKEW_SECONDS = 30;

/** `secrets` are the current one and, while it is rotated, the one before. `now` is in seconds. */
export async function userOf(request: Request, secrets: string[], now: number): Promise<string> {
  const [scheme, token] = (request.headers.get("authorization") ?? "").split(" ");
  if (scheme?.toLowerCase() !== "bearer" || !token) throw unauthorized();
  for (const secret of secrets) {
    const claims = await verified(token, secret, now);
    if (claims) return userIn(claims, now);
  }
  throw unauthorized();
}

async function verified(token: string, secret: string, now: number): Promise<JWTPayload | undefined> {
  try {
    const { payload } = await jwtVerify(token, new TextEncoder().encode(secret), {
      algorithms: ["HS256"],
      issuer: "qwestly-agent",
      audience: "candidate-app",
      requiredClaims: ["sub", "act", "iat", "exp", "jti"],
      currentDate: new Date(now * 1000),
    });
    return payload;
  } catch {
    return undefined;
  }
}

function userIn({ sub, act, iat = 0, exp = 0 }: JWTPayload, now: number): string {
  const acts = typeof act === "object" && act !== null && "sub" in act && typeof act.sub === "string" && act.sub;
  const inForce = iat - CLOCK_SKEW_SECONDS <= now && now < exp && exp - iat <= LIFE_SECONDS;
  if (!sub || !acts || !inForce) throw unauthorized();
  return sub;
}

const unauthorized = () => new Refusal(401, "unauthorized", "This token is not the agent's, or not good now.");
