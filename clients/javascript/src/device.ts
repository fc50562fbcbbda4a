/**
 * A device that answers once: a reload or a retry sends the same report again.
 *
 * Owns the rule that one person spends the budget of one plan once, the owner's limit on what
 * all plans spend together, and the veto on plans that a row could answer by silence.
 */

import { BudgetError, ReportError } from "./errors.js";
import { checkPlan, type Plan } from "./plan.js";
import { makeReport, readReport } from "./report.js";
import type { Row } from "./row.js";
import type { Kept, Store } from "./stores.js";
import { post, type UploadOptions } from "./upload.js";

export interface DeviceOptions {
  /** Where reports are kept: `browserStore()` in a page. */
  store: Store;
  /** How much ε all plans together may spend; no limit by default. */
  mostEpsilon?: number;
  /** Whether to answer plans that refuse missing cells: silence would tell of them. */
  allowRefusal?: boolean;
}

/** A report that no server has acknowledged yet. */
export interface Pending {
  readonly planId: string;
  readonly report: Uint8Array;
}

const NOTHING_SPENT = "The row was not looked at, nothing was made and nothing was spent.";

/** Makes one report for each plan, keeps it, and sends it when there is a network. */
export class Device {
  readonly #store: Store;
  readonly #mostEpsilon: number;
  readonly #allowRefusal: boolean;

  constructor({ store, mostEpsilon = Infinity, allowRefusal = false }: DeviceOptions) {
    if (!(typeof mostEpsilon === "number" && mostEpsilon > 0)) {
      throw new BudgetError("mostEpsilon must be a positive number.");
    }
    this.#store = store;
    this.#mostEpsilon = mostEpsilon;
    this.#allowRefusal = allowRefusal === true;
  }

  /**
   * Return the report for a plan: made the first time, the same ever after.
   *
   * Whether a plan is refused (`BudgetError`) follows from the plan, the store and the
   * owner's limits, before the row is looked at. Another row gets the same answer: a correction
   * would be a second disclosure.
   */
  async report(row: Row, plan: Plan): Promise<Uint8Array> {
    checkPlan(plan);
    const allow = (all: Kept[]) => this.#allow(plan, all);
    const all = await this.#store.all();
    let kept = find(all, plan);
    if (!kept) {
      allow(all);
      const report = await makeReport(row, plan);
      const entry = { planId: plan.id, epsilon: plan.epsilon, report, sent: false };
      // Another tab may have been faster: then its report is the one, and this is forgotten.
      kept = await this.#store.keep(entry, allow);
    }
    return intact(kept, plan.id);
  }

  /** Return the report that is kept for a plan, if there is one. Makes none. */
  async kept(plan: Plan): Promise<Uint8Array | undefined> {
    checkPlan(plan);
    const kept = find(await this.#store.all(), plan);
    return kept && intact(kept, plan.id);
  }

  /** Return what no server has acknowledged yet. */
  async pending(): Promise<Pending[]> {
    const all = await this.#store.all();
    return all
      .filter(({ sent }) => !sent)
      .map((kept) => ({ planId: kept.planId, report: intact(kept, kept.planId) }));
  }

  /** Return how much ε all plans together have spent. */
  async spent(): Promise<number> {
    return total(await this.#store.all());
  }

  /**
   * Send the report that is kept for a plan. Makes none, and sends nothing else.
   *
   * Only the report of this plan is sent: another one would tell its server more than its
   * promise says. Call it again when the page is loaded or comes online; once a server has
   * the report, nothing is sent any more.
   *
   * @returns whether a server has the report; `UploadError` if it refused it for good
   */
  async upload(plan: Plan, url: string | URL, options?: UploadOptions): Promise<boolean> {
    checkPlan(plan);
    const kept = find(await this.#store.all(), plan);
    if (!kept) throw new ReportError("No report is kept for this plan.");
    const report = intact(kept, plan.id);
    if (kept.sent) return true;
    const has = await post(report, url, options);
    if (has) await this.#store.markSent(plan.id);
    return has;
  }

  #allow(plan: Plan, all: Kept[]): void {
    if (plan.missing === "refuse" && !this.#allowRefusal) {
      throw new BudgetError(
        `The plan refuses rows with missing cells: silence would tell of them. ${NOTHING_SPENT}`,
      );
    }
    const sum = total([...all, plan]);
    if (sum > this.#mostEpsilon) {
      throw new BudgetError(
        `With this plan epsilon = ${sum} would be spent in all; the owner of the device allows ` +
          `${this.#mostEpsilon}. ${NOTHING_SPENT}`,
      );
    }
  }
}

function find(all: Kept[], plan: Plan): Kept | undefined {
  return all.find(({ planId }) => planId === plan.id);
}

/** Return a copy of what is kept, if it is a report for the plan. */
function intact(kept: Kept, planId: string): Uint8Array {
  try {
    const facts = readReport(kept.report);
    if (!facts.simulated && planId.startsWith(facts.planId)) return kept.report.slice();
  } catch {
    // Refused below, in words of this module.
  }
  throw new ReportError(
    "What is kept for the plan is damaged. An earlier report may have been sent; a new one would " +
      "spend the budget again.",
  );
}

/** Sum epsilons with the rounding errors of the additions, so that 0.1 counts as 0.1. */
function total(entries: readonly { readonly epsilon: number }[]): number {
  let sum = 0;
  let rest = 0;
  for (const { epsilon } of entries) {
    if (!(typeof epsilon === "number" && epsilon > 0 && epsilon < Infinity)) {
      throw new ReportError("The record of what was spent is damaged; no new plan is answered.");
    }
    const next = sum + epsilon;
    const part = next - sum;
    rest += sum - (next - part) + (epsilon - part);
    sum = next;
  }
  return sum + rest;
}
