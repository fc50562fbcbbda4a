/**
 * Sending a report: the same bytes again until a server has them, and nothing else.
 *
 * Owns the request and what an answer means. A server that knows the report already answers
 * as it did the first time, so that a repeated request does no harm.
 */

import { UploadError } from "./errors.js";

export interface UploadOptions {
  /** How often to try, 5 by default; then the report waits for the next call. */
  attempts?: number;
  /** Stops waiting and trying; the report stays pending. */
  signal?: AbortSignal;
  /** The seconds before the second try, 1 by default; doubled each time, up to a minute. */
  firstWait?: number;
}

const MOST_WAIT = 60;
const MOST_STATED_WAIT = 600; // longer ones that a server states are left to the next call

/** Return whether a server has the report now; throw `UploadError` if it never will. */
export async function post(
  report: Uint8Array,
  url: string | URL,
  { attempts = 5, signal, firstWait = 1 }: UploadOptions = {},
): Promise<boolean> {
  for (let attempt = 0; attempt < attempts && !signal?.aborted; attempt++) {
    const answer = await request(report, url, signal ?? null);
    if (answer?.ok) return true;
    if (answer && !mayChange(answer.status)) {
      throw new UploadError(
        `The server refused the report (status ${answer.status}). It is kept.`,
        answer.status,
      );
    }
    if (attempt + 1 === attempts) break;
    const stated = Number(answer?.headers.get("Retry-After") ?? 0) || 0;
    if (stated > MOST_STATED_WAIT) break;
    const wait = Math.min(firstWait * 2 ** attempt, MOST_WAIT);
    // A part at random: devices that lost one server must not come back all at once.
    await sleep(Math.max(stated, wait * (0.5 + Math.random() / 2)), signal);
  }
  return false;
}

/** Too slow, too early, too many, or the server's own trouble. */
function mayChange(status: number): boolean {
  return status === 408 || status === 425 || status === 429 || status >= 500;
}

/** Send the bytes once; without a network there is no answer. */
async function request(
  report: Uint8Array,
  url: string | URL,
  signal: AbortSignal | null,
): Promise<Response | undefined> {
  try {
    return await fetch(url, {
      method: "POST",
      headers: { "Content-Type": "application/octet-stream" },
      body: report as Uint8Array<ArrayBuffer>,
      // Nothing but the report: no cookies, no address of the page, no other place.
      credentials: "omit",
      referrerPolicy: "no-referrer",
      redirect: "error",
      cache: "no-store",
      signal,
    });
  } catch {
    return undefined;
  }
}

function sleep(seconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resume) => {
    const timer = setTimeout(resume, 1000 * seconds);
    signal?.addEventListener("abort", () => (clearTimeout(timer), resume()), { once: true });
  });
}
