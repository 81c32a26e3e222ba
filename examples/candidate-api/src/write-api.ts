/**
 * The write API of docs/candidate-app-api.yaml, as a function from a request to its response.
 *
 * In Next.js it is `app/api/agent/v1/[...path]/route.ts`, which exports it as GET, PATCH, POST, PUT and DELETE, and
 * what `app/api/linkedin/profile/route.ts` calls for a token of the agent's.
 */
import type { Conforms } from "./contract.js";
import { Refusal, changed, notFound } from "./errors.js";
import { type Asked, type Body, asked } from "./request.js";
import type { Document, Documents, Filter, Store } from "./store.js";
import { userOf } from "./token.js";

const BASE = "/api/agent/v1";
const CANDIDATES = "candidates_enhanced";
const PREFERENCES = "preferences_enhanced";
const EMPLOYMENT = "employment_stints_enhanced";
const LINKEDIN = "linkedin_profiles";
const SUGGESTIONS = "linkedin_profile_suggestions";
const CARDS = "qc_sections";
const DOCUMENTS = "candidate_app_documents";
const CHUNKS = "knowledge_chunk";
const APPLICATIONS = "candidate_app_applications";
const OPERATIONS = "candidate_app_operations";
/** Whether applications for the jobs of a source are delivered. */
const DELIVERS: Record<string, boolean> = { adzuna: true, jsearch: false };
const READ_AGAIN_AFTER_SECONDS = 24 * 3600;
/** Characters of a chunk; longer paragraphs are one each. */
const CHUNK_CHARACTERS = 1000;

export interface Given {
  store: Store;
  secrets: string[];
  conforms: Conforms;
  /** Reads what LinkedIn shows at this address; may throw a `Refusal`, whose sentence the user reads. */
  readLinkedIn: (url: string) => Promise<Body>;
  /** Seconds since the epoch. */
  now: () => number;
}

/** What has a version: one document of one user. */
interface Subject {
  name: string;
  collection: string;
  filter: Filter & { user_id: string };
}

interface Change {
  subject: Subject;
  there: Document | undefined;
  version: number;
  body: Body;
}

interface Position {
  title?: string;
  company?: string;
  location?: string;
  start?: string;
  end?: string;
  lines?: string[];
}

/** The result, or nothing where `later` goes on by itself. */
type Effect = (documents: Documents, change: Change) => Promise<Body | undefined>;

interface Write {
  body?: string;
  mayCreate: boolean;
  effect: Effect;
  later?: (subject: Subject, asked: Asked) => Promise<void>;
}

interface Resource {
  path: RegExp;
  collection: string;
  /** The field that holds the id in the path. */
  id?: string;
  writes: Record<string, Write>;
  /** The subject's name, where the path is what can be done with it: nothing is read there. */
  of?: (path: string) => string;
}

export function writeApi({ store, secrets, conforms, readLinkedIn, now }: Given) {
  // --- what each does -------------------------------------------------------------------------------------------------

  async function put(documents: Documents, { subject, there, version, body }: Change, initially: Body = {}) {
    if (there) await documents.update(subject.collection, subject.filter, { ...body, version });
    else await documents.insert(subject.collection, { ...subject.filter, ...initially, ...body, version });
  }

  /** Replaces the list. With ids of your own, keep those of the positions that stand as they stood. */
  async function setPositions(documents: Documents, user_id: string, positions: Position[]) {
    await documents.remove(EMPLOYMENT, { user_id });
    for (const { start, end, lines, ...names } of positions) {
      const time = end === "present" ? { is_current: true } : { is_current: false, ...(end && { end_date: end }) };
      const description = lines?.length ? { description: lines.join("\n") } : {};
      await documents.insert(EMPLOYMENT, { user_id, ...names, ...(start && { start_date: start }), ...time, ...description });
    }
  }

  const setProfile: Effect = async (documents, change) => {
    const fields = Object.entries(change.body);
    const isPreference = ([name, value]: [string, unknown]) => conforms("PreferenceChange", { [name]: value });
    const preferences = fields.filter(isPreference);
    const ofProfile = fields.filter((each) => !isPreference(each) && each[0] !== "positions");
    await put(documents, { ...change, body: Object.fromEntries(ofProfile) });
    if ("positions" in change.body) {
      const positions = (change.body.positions ?? []) as Position[];
      await setPositions(documents, change.subject.filter.user_id, positions);
    }
    if (preferences.length) {
      const subject = { name: "preferences", collection: PREFERENCES, filter: { user_id: change.subject.filter.user_id } };
      const there = await documents.find(PREFERENCES, subject.filter);
      const version = await nextVersion(documents, subject, there);
      await put(documents, { subject, there, version, body: Object.fromEntries(preferences) });
    }
    return { fields: Object.keys(change.body).sort().join(", ") };
  };

  /** The profile's version covers both: whoever saw the old preferences beside it has not seen these. */
  const setPreference: Effect = async (documents, change) => {
    await put(documents, change);
    const profile = await documents.find(CANDIDATES, change.subject.filter);
    if (profile) await documents.update(CANDIDATES, change.subject.filter, { version: Number(versionOf(profile)) + 1 });
    return { fields: Object.keys(change.body).join(", ") };
  };

  const publish: Effect = async (documents, change) => {
    const body = { headline: null, ...change.body, published_at: now() };
    await put(documents, { ...change, body }, { active: false });
    return idOf(change.subject, "card_id");
  };

  const activate: Effect = async (documents, change) => {
    const { user_id } = change.subject.filter;
    for (const each of await documents.all(CARDS, { user_id })) {
      if (!each.active || each.card_id === change.subject.filter.card_id) continue;
      const other = { user_id, card_id: String(each.card_id) };
      await documents.update(CARDS, other, { active: false, version: Number(each.version ?? 0) + 1 });
    }
    await put(documents, { ...change, body: { active: true } });
    return idOf(change.subject, "card_id");
  };

  const deactivate: Effect = async (documents, change) => {
    await put(documents, { ...change, body: { active: false } });
    return idOf(change.subject, "card_id");
  };

  const remove: Effect = async (documents, { subject }) => {
    await documents.remove(subject.collection, subject.filter);
    return idOf(subject, "card_id");
  };

  const suggest: Effect = async (documents, change) => {
    await put(documents, { ...change, body: { ...change.body, suggested_at: now() } });
    return idOf(change.subject, "draft_id");
  };

  /** The text becomes chunks, in place of those of an earlier one. Embeddings are made where all others are. */
  const keep: Effect = async (documents, change) => {
    await put(documents, { ...change, body: { ...change.body, kept_at: now() } });
    const { filter } = change.subject;
    const { title, kind, text } = change.body;
    await documents.remove(CHUNKS, filter);
    for (const chunk of chunksOf(String(text))) {
      await documents.insert(CHUNKS, { ...filter, title, source_type: kind, text: chunk });
    }
    return idOf(change.subject, "document_id");
  };

  /** Kept with what sends it to the employer, in one transaction: an outbox, say. */
  const send: Effect = async (documents, change) => {
    const { source } = change.body.job as { source: string };
    if (!DELIVERS[source]) throw new Refusal(403, "not_delivered", "Nobody delivers applications for this job board.");
    await put(documents, { ...change, body: { ...change.body, sent_at: now() } });
    return idOf(change.subject, "job_id");
  };

  const ingest: Effect = async (_, { there, body }) => {
    const recent = there?.url === body.url && now() < Number(there?.ingested_at ?? 0) + READ_AGAIN_AFTER_SECONDS;
    return recent && !body.refresh ? { url: body.url } : undefined;
  };

  async function readAndKeep(subject: Subject, { key, seen, body }: Asked) {
    const operation = { user_id: subject.filter.user_id, key };
    const url = String(body.url);
    try {
      const read = { ...(await readLinkedIn(url)), url, ingested_at: now() };
      await store.transaction(async (documents) => {
        const there = await mustBeAsSeen(documents, subject, seen);
        const version = await nextVersion(documents, subject, there);
        await put(documents, { subject, there, version, body: read });
        const outcome = { status: "done", version: String(version), result: { url } };
        await documents.update(OPERATIONS, operation, outcome);
      });
    } catch (error) {
      const { code, message } =
        error instanceof Refusal ? error : new Refusal(502, "source_unavailable", "The profile could not be read.");
      await store.transaction((documents) =>
        documents.update(OPERATIONS, operation, { status: "failed", error: { code, message } }),
      );
    }
  }

  const RESOURCES: Resource[] = [
    {
      path: /^\/profile$/,
      collection: CANDIDATES,
      writes: { PATCH: { body: "ProfileChange", mayCreate: true, effect: setProfile } },
    },
    {
      path: /^\/preferences$/,
      collection: PREFERENCES,
      writes: { PATCH: { body: "PreferenceChange", mayCreate: true, effect: setPreference } },
    },
    { path: /^\/linkedin-profile$/, collection: LINKEDIN, writes: {} },
    {
      path: /^\/api\/linkedin\/profile$/,
      collection: LINKEDIN,
      of: () => "/linkedin-profile",
      writes: { POST: { body: "LinkedInSource", mayCreate: true, effect: ingest, later: readAndKeep } },
    },
    {
      path: /^\/linkedin-profile\/suggestions\/([A-Za-z0-9_-]{1,128})$/,
      collection: SUGGESTIONS,
      id: "draft_id",
      writes: { PUT: { body: "LinkedInSuggestion", mayCreate: true, effect: suggest } },
    },
    {
      path: /^\/documents\/([A-Za-z0-9_-]{1,128})$/,
      collection: DOCUMENTS,
      id: "document_id",
      writes: { PUT: { body: "Document", mayCreate: true, effect: keep } },
    },
    {
      path: /^\/applications\/([A-Za-z0-9_-]{1,128})$/,
      collection: APPLICATIONS,
      id: "job_id",
      writes: { PUT: { body: "Application", mayCreate: true, effect: send } },
    },
    {
      path: /^\/cards\/([A-Za-z0-9_-]{1,128})$/,
      collection: CARDS,
      id: "card_id",
      writes: {
        PUT: { body: "Card", mayCreate: true, effect: publish },
        DELETE: { mayCreate: false, effect: remove },
      },
    },
    {
      path: /^\/cards\/([A-Za-z0-9_-]{1,128})\/activation$/,
      collection: CARDS,
      id: "card_id",
      of: (path) => path.replace("/activation", ""),
      writes: {
        POST: { mayCreate: false, effect: activate },
        DELETE: { mayCreate: false, effect: deactivate },
      },
    },
  ];

  // --- each effect once, and only on what was seen --------------------------------------------------------------------

  async function mustBeAsSeen(documents: Documents, subject: Subject, seen: string | undefined) {
    const there = await documents.find(subject.collection, subject.filter);
    if (!there && seen !== undefined) throw notFound();
    if (there && versionOf(there) !== seen) throw changed(versionOf(there));
    return there;
  }

  /** Operations are kept, and each moves a version by one at most: those of a deleted subject never come back. */
  async function nextVersion(documents: Documents, { filter: { user_id } }: Subject, there: Document | undefined) {
    if (there) return Number(versionOf(there)) + 1;
    return (await documents.all(OPERATIONS, { user_id })).length + 1;
  }

  async function once(subject: Subject, write: Write, request: Asked): Promise<Response> {
    const { key, seen, body, fingerprint } = request;
    const { user_id } = subject.filter;
    const { operation, isNew } = await store.transaction(async (documents) => {
      const earlier = await documents.find(OPERATIONS, { user_id, key });
      if (earlier && earlier.fingerprint !== fingerprint) {
        throw new Refusal(409, "key_reused", "This key was used with another request.");
      }
      if (earlier) return { operation: structuredClone(earlier), isNew: false };
      const there = await mustBeAsSeen(documents, subject, seen);
      const version = await nextVersion(documents, subject, there);
      const result = await write.effect(documents, { subject, there, version, body });
      const after = await documents.find(subject.collection, subject.filter);
      const outcome = result
        ? { status: "done", version: after ? versionOf(after) : null, result }
        : { status: "pending" };
      const operation: Document = { user_id, key, fingerprint, at: now(), subject: subject.name, ...outcome };
      await documents.insert(OPERATIONS, operation);
      return { operation: structuredClone(operation), isNew: true };
    });
    if (isNew && operation.status === "pending") void write.later?.(subject, request);
    return told(operation, operation.status === "pending" ? 202 : 200);
  }

  async function read(subject: Subject): Promise<Response> {
    const there = await store.transaction((documents) => documents.find(subject.collection, subject.filter));
    if (!there) throw notFound();
    const version = versionOf(there);
    return Response.json({ subject: subject.name, version }, { headers: { ETag: `"${version}"` } });
  }

  async function readOperation(user_id: string, key: string): Promise<Response> {
    const operation = await store.transaction((documents) => documents.find(OPERATIONS, { user_id, key }));
    if (!operation) throw new Refusal(404, "unknown_operation", "No request with this key has arrived.");
    return told(operation, 200);
  }

  async function answer(request: Request): Promise<Response> {
    const path = new URL(request.url).pathname.replace(BASE, "");
    if (path === "/sources" && request.method === "GET") {
      const sources = Object.entries(DELIVERS).map(([name, delivers]) => [name, { delivers }]);
      return Response.json({ sources: Object.fromEntries(sources) });
    }
    const user_id = await userOf(request, secrets, now());
    const key = /^\/operations\/([^/]+)$/.exec(path)?.[1];
    if (key && request.method === "GET") return await readOperation(user_id, key);
    for (const { path: pattern, collection, id, writes, of } of RESOURCES) {
      const found = pattern.exec(path);
      if (!found) continue;
      const more: Filter = id && found[1] ? { [id]: found[1] } : {};
      const subject = { name: (of?.(path) ?? path).slice(1), collection, filter: { user_id, ...more } };
      const write = writes[request.method];
      if (write) return await once(subject, write, await asked(request, write, conforms));
      if (request.method === "GET" && !of) return await read(subject);
    }
    throw new Refusal(404, "no_such_route", "There is no such address.");
  }

  return async (request: Request): Promise<Response> => {
    try {
      return await answer(request);
    } catch (error) {
      if (error instanceof Refusal) return error.response;
      console.error(error);
      return new Refusal(500, "internal", "Something went wrong.").response;
    }
  };
}

/** What others put into the database without a version is at 0. */
const versionOf = (document: Document) => String(document.version ?? 0);

const idOf = (subject: Subject, field: string): Body => ({ [field]: subject.filter[field] });

function told(operation: Document, status: number): Response {
  const { key, status: state, subject, version, result, error } = operation;
  const headers: Record<string, string> = typeof version === "string" ? { ETag: `"${version}"` } : {};
  return Response.json({ key, status: state, subject, version, result, error }, { status, headers });
}

function chunksOf(text: string): string[] {
  const chunks: string[] = [];
  for (const paragraph of text.split("\n\n")) {
    const last = chunks.at(-1);
    if (last !== undefined && last.length + paragraph.length + 2 <= CHUNK_CHARACTERS) {
      chunks[chunks.length - 1] = `${last}\n\n${paragraph}`;
    } else chunks.push(paragraph);
  }
  return chunks;
}
