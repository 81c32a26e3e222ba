/** The candidate app's documents. In memory here; with MongoDB, `transaction` is a session's `withTransaction`. */

export type Document = Record<string, unknown> & { user_id: string };
export type Filter = Record<string, string>;

/** What can be done within a transaction. */
export interface Documents {
  find(collection: string, filter: Filter): Promise<Document | undefined>;
  all(collection: string, filter: Filter): Promise<Document[]>;
  insert(collection: string, document: Document): Promise<void>;
  update(collection: string, filter: Filter, fields: Record<string, unknown>): Promise<void>;
  remove(collection: string, filter: Filter): Promise<void>;
}

export interface Store {
  /** All of the work happens or, where it throws, nothing; no other transaction sees a part of it, or comes between. */
  transaction<Result>(work: (documents: Documents) => Promise<Result>): Promise<Result>;
}

class MemoryDocuments implements Documents {
  #collections: Record<string, Document[]> = {};

  async find(collection: string, filter: Filter) {
    return (await this.all(collection, filter))[0];
  }

  async all(collection: string, filter: Filter) {
    return this.#of(collection).filter((each) => matches(each, filter));
  }

  async insert(collection: string, document: Document) {
    this.#of(collection).push(document);
  }

  async update(collection: string, filter: Filter, fields: Record<string, unknown>) {
    for (const each of await this.all(collection, filter)) Object.assign(each, fields);
  }

  async remove(collection: string, filter: Filter) {
    this.#collections[collection] = this.#of(collection).filter((each) => !matches(each, filter));
  }

  snapshot() {
    return structuredClone(this.#collections);
  }

  restore(snapshot: Record<string, Document[]>) {
    this.#collections = snapshot;
  }

  #of(collection: string) {
    return (this.#collections[collection] ??= []);
  }
}

function matches(document: Document, filter: Filter) {
  return Object.entries(filter).every(([name, value]) => document[name] === value);
}

/** One transaction after the other. */
export class MemoryStore implements Store {
  #documents = new MemoryDocuments();
  #last: Promise<unknown> = Promise.resolve();

  transaction<Result>(work: (documents: Documents) => Promise<Result>): Promise<Result> {
    const done = this.#last.then(() => this.#attempt(work));
    this.#last = done.catch(() => undefined);
    return done;
  }

  async #attempt<Result>(work: (documents: Documents) => Promise<Result>) {
    const before = this.#documents.snapshot();
    try {
      return await work(this.#documents);
    } catch (error) {
      this.#documents.restore(before);
      throw error;
    }
  }
}
