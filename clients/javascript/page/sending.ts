/**
 * Sending the report that is kept, once the person has said so.
 *
 * Owns when it is tried: at once, when the network comes back, when the page is loaded again,
 * and now and then while it waits. That the person said so is kept beside the report, so that a
 * reload sends what was to be sent and nothing that was not.
 */

import { type Device, type Plan, UploadError } from "./dpcov.js";

export type State =
  | { readonly kind: "unsent" | "sending" | "waiting" | "sent" }
  | { readonly kind: "refused"; readonly status: number };

const ADDRESS = "reports";
const WISH = "dpcov: send the report of plan";
const AGAIN_AFTER = 30_000;

/** One report on its way. */
export class Sending {
  readonly #device: Device;
  readonly #plan: Plan;
  readonly #show: (state: State) => void;
  #busy = false;
  #state: State = { kind: "unsent" };

  constructor(device: Device, plan: Plan, show: (state: State) => void) {
    this.#device = device;
    this.#plan = plan;
    this.#show = show;
    addEventListener("online", () => void this.#tryAgain());
    setInterval(() => void this.#tryAgain(), AGAIN_AFTER);
  }

  /** Whether the person said, on this page or before it was loaded again, to send the report. */
  get wished(): boolean {
    return localStorage.getItem(WISH) === this.#plan.id;
  }

  /** Send the report, for the person said so. */
  async send(): Promise<void> {
    localStorage.setItem(WISH, this.#plan.id);
    if (this.#busy) return;
    this.#change({ kind: "sending" });
    await this.#attempt(3);
  }

  async #tryAgain(): Promise<void> {
    if (this.#state.kind === "waiting" && !this.#busy && navigator.onLine) await this.#attempt(1);
  }

  async #attempt(attempts: number): Promise<void> {
    this.#busy = true;
    try {
      const options = { attempts: navigator.onLine ? attempts : 1 };
      const has = await this.#device.upload(this.#plan, ADDRESS, options);
      this.#change({ kind: has ? "sent" : "waiting" });
    } catch (problem) {
      const refused = problem instanceof UploadError;
      // Otherwise the storage failed: the server may have the report, and a second try finds out.
      this.#change(refused ? { kind: "refused", status: problem.status } : { kind: "waiting" });
    } finally {
      this.#busy = false;
    }
  }

  #change(state: State): void {
    const same = state.kind === "waiting" && this.#state.kind === "waiting";
    if (same) return; // nobody wants to be told twice a minute
    this.#state = state;
    this.#show(state);
  }
}
