/**
 * The order of the steps, and what a person comes back to.
 *
 * Owns the rule that a report is made once, when the person says so, and sent only when the
 * person says so: who loads the page again finds the report where it was.
 */

import { type Answer, rowOf } from "./answers.js";
import { Device, DpcovError, type Plan } from "./dpcov.js";
import { byId, make, paragraph } from "./elements.js";
import { Sending, type State } from "./sending.js";
import { aboutStep, questionsStep, receiptStep, reviewStep, stopStep, type Study } from "./steps.js";
import * as words from "./words.js";

type Step = "about" | "questions" | "review" | "receipt";

const STEPS: Step[] = ["about", "questions", "review", "receipt"];

/** Show a step and begin at its head, with the focus as well. */
function show(step: Step | null, nodes: Node[]): void {
  const main = byId("step");
  main.replaceChildren(...nodes);
  byId("steps").hidden = step === null;
  STEPS.forEach((name, i) => {
    const item = byId("steps").querySelectorAll("li")[i];
    if (name === step) item.setAttribute("aria-current", "step");
    else item.removeAttribute("aria-current");
    item.classList.toggle("done", step !== null && i < STEPS.indexOf(step));
  });
  const heading = main.querySelector("h2");
  document.title = `${heading?.textContent} – ${byId("title").textContent}`;
  heading?.focus({ preventScroll: true });
  scrollTo(0, 0);
}

/** Say why the page cannot go on. */
export function stop(problem: string, again: (() => void) | null = null): void {
  show(null, stopStep(problem, again));
}

/** One person's way through the page. */
export class Flow {
  readonly #study: Study;
  readonly #device: Device;
  readonly #sending: Sending;
  #report: Uint8Array | undefined;
  #form: Node[] | null = null; // with the answers so far, for who goes back and forth
  #making = false;
  readonly #state = make("div", { class: "sending", role: "status" });
  readonly #send = make("button", { type: "button", click: () => void this.#sending.send() });

  constructor(study: Study, device: Device) {
    this.#study = study;
    this.#device = device;
    this.#sending = new Sending(device, study.plan, (state) => this.#tell(state));
  }

  get #plan(): Plan {
    return this.#study.plan;
  }

  /** Begin, or go on where the person was. */
  async start(): Promise<void> {
    this.#report = await this.#device.kept(this.#plan);
    if (!this.#report) {
      const spent = await this.#device.spent();
      return this.#about(spent);
    }
    const pending = await this.#device.pending();
    if (!pending.some(({ planId }) => planId === this.#plan.id)) {
      return this.#receipt();
    }
    this.#review("");
    if (this.#sending.wished) await this.#sending.send();
  }

  #about(spent: number): void {
    show("about", aboutStep(this.#study, spent, () => this.#questions(spent)));
  }

  #questions(spent: number): void {
    this.#form ??= questionsStep(
      this.#study,
      () => this.#about(spent),
      (answers) => void this.#make(answers),
    );
    show("questions", this.#form);
  }

  async #make(answers: Answer[]): Promise<void> {
    if (this.#making) return; // somebody pressed twice
    this.#making = true;
    try {
      const before = await this.#device.kept(this.#plan);
      const row = rowOf(this.#plan, this.#study.asked.questions, answers);
      this.#report = await this.#device.report(row, this.#plan);
      this.#form = null;
      this.#review(before ? words.MADE_BEFORE : "");
    } catch (problem) {
      stop(problem instanceof DpcovError ? words.unusable(problem.message) : words.NEEDS_STORAGE);
    }
  }

  #review(note: string): void {
    this.#tell({ kind: "unsent" });
    const send = make("div", { class: "send" }, this.#state, make("p", { class: "buttons" }, this.#send));
    show("review", reviewStep(this.#study, this.#report!, note, send));
  }

  #receipt(): void {
    show("receipt", receiptStep(this.#study, this.#report!));
  }

  /** Say how far the report is on its way. */
  #tell(state: State): void {
    if (state.kind === "sent") return this.#receipt();
    const { contact } = this.#study.asked;
    const said = {
      unsent: "Nothing has been sent. If you do not want to send the report, close this page.",
      sending: "Sending …",
      waiting: words.WAITING,
      refused: state.kind === "refused" ? words.refusalOf(state.status, contact) : "",
    }[state.kind];
    this.#state.className = `sending ${state.kind === "refused" ? "alarm" : state.kind}`;
    this.#state.replaceChildren(paragraph(said));
    this.#send.textContent = state.kind === "waiting" ? "Try again now" : "Send my report";
    this.#send.disabled = state.kind === "sending";
    this.#send.hidden = state.kind === "refused";
    // Who loads the page again is at its top.
    if (state.kind === "waiting" || state.kind === "refused") {
      this.#state.scrollIntoView({ block: "center" });
    }
  }
}
