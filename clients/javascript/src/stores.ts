/**
 * Where a device keeps its reports: in the browser's database, or in memory.
 *
 * Owns the one step that must not be parted: look whether a report is kept, ask whether
 * another one is allowed, keep it. Tabs of a browser share a database, and so do two calls.
 */

/** What is kept for a plan that was answered. */
export interface Kept {
  readonly planId: string;
  /** What the report spent. */
  readonly epsilon: number;
  readonly report: Uint8Array;
  /** Whether a server has said that it has the report. */
  readonly sent: boolean;
}

/** A place that outlives the page. One store belongs to one person. */
export interface Store {
  /** Return all that is kept. */
  all(): Promise<Kept[]>;
  /**
   * Keep a report, unless one is kept for the plan; return what is kept for the plan then.
   *
   * All in one step, and on the disk before the promise is fulfilled. `allow` is called with
   * all that is kept, before anything is written, and throws where the report must not be.
   */
  keep(entry: Kept, allow: (all: Kept[]) => void): Promise<Kept>;
  /** Note that a server has the report of a plan. */
  markSent(planId: string): Promise<void>;
}

/** A store that is forgotten with the program: for tests and simulations. */
export function memoryStore(): Store {
  const entries = new Map<string, Kept>();
  return {
    all: async () => [...entries.values()],
    async keep(entry, allow) {
      const known = entries.get(entry.planId);
      if (known) return known;
      allow([...entries.values()]);
      entries.set(entry.planId, entry);
      return entry;
    },
    async markSent(planId) {
      const known = entries.get(planId);
      if (known) entries.set(planId, { ...known, sent: true });
    },
  };
}

const TABLE = "reports";

/**
 * A store in the browser (IndexedDB), of this origin.
 *
 * @param name of the database: another one for each person who uses the browser
 */
export function browserStore(name = "dpcov"): Store {
  return {
    all: () => transact<Kept[], Kept[]>(name, (table) => table.getAll(), (all) => all),
    keep: (entry, allow) =>
      transact<Kept[], Kept>(name, (table) => table.getAll(), (all, table) => {
        const known = all.find(({ planId }) => planId === entry.planId);
        if (known) return known;
        allow(all);
        table.add(entry);
        return entry;
      }),
    markSent: (planId) =>
      transact<Kept | undefined, void>(name, (table) => table.get(planId), (known, table) => {
        if (known) table.put({ ...known, sent: true });
      }),
  };
}

/** Ask, then decide and write, in one transaction; answer when it is on the disk. */
async function transact<Found, Answer>(
  name: string,
  ask: (table: IDBObjectStore) => IDBRequest<Found>,
  decide: (found: Found, table: IDBObjectStore) => Answer,
): Promise<Answer> {
  const database = await open(name);
  try {
    return await new Promise<Answer>((resolve, reject) => {
      const transaction = database.transaction(TABLE, "readwrite", { durability: "strict" });
      const table = transaction.objectStore(TABLE);
      const request = ask(table);
      request.onsuccess = () => {
        try {
          const answer = decide(request.result, table);
          transaction.oncomplete = () => resolve(answer);
        } catch (problem) {
          reject(problem);
          transaction.abort();
        }
      };
      transaction.onabort = () => reject(transaction.error);
    });
  } finally {
    database.close();
  }
}

function open(name: string): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(name, 1);
    request.onupgradeneeded = () => request.result.createObjectStore(TABLE, { keyPath: "planId" });
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}
