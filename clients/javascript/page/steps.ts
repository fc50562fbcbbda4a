/**
 * What is on the page at each step: the study, the questions, the report, the receipt.
 *
 * Owns the elements of the steps, not the order in which they come.
 */

import type { Answer } from "./answers.js";
import { showBytes } from "./bytes.js";
import { type Plan, readReport } from "./dpcov.js";
import { foreign, make, paragraph } from "./elements.js";
import { makeForm } from "./form.js";
import { afterwards, GUESSES, shownChance, shownShare, strengthOf } from "./promise.js";
import type { Questionnaire } from "./questions.js";
import * as words from "./words.js";

/** What all steps are about. */
export interface Study {
  readonly plan: Plan;
  readonly asked: Questionnaire;
}

/** What the study is, and what is promised. */
export function aboutStep({ plan, asked }: Study, spent: number, next: () => void): Node[] {
  const { questions, minimum, contact } = asked;
  const together = words.togetherOf(spent, plan);
  return [
    make("h2", { tabindex: "-1" }, "About this study"),
    ...asked.about.map((text) => paragraph(foreign(text))),
    paragraph(
      questions.length === 1 ? "There is one question." : `There are ${questions.length} questions.`,
      " You may leave out any of them: that is as private as an answer.",
      minimum ? ` Nothing is published before ${minimum.toLocaleString("en")} people have answered.` : "",
    ),
    contact ? paragraph("Who to ask: ", contactOf(contact)) : "",
    promiseBox(plan),
    together ? paragraph(make("strong", {}, together)) : "",
    make("h3", {}, "What is not promised"),
    make("ul", {}, ...words.NOT_PROMISED.map((text) => make("li", {}, text))),
    make("p", { class: "buttons" }, make("button", { type: "button", click: next }, "To the questions")),
  ].map(asNode);
}

function promiseBox(plan: Plan): HTMLElement {
  const rows = GUESSES.map((guess) =>
    make(
      "tr",
      {},
      make("td", {}, shownChance(guess)),
      make("td", {}, shownShare(afterwards(guess, plan.epsilon))),
    ),
  );
  const warning = words.warningOf(plan);
  return make(
    "section",
    { class: `promise ${strengthOf(plan.epsilon)}` },
    make("h3", {}, words.headingOfPromise(plan)),
    paragraph(
      make("strong", {}, "Your answers never leave this device."),
      " What leaves it is one report of 50 bytes: a random draw that leans toward your answers.",
    ),
    paragraph(make("strong", {}, words.promiseOf(plan))),
    make(
      "table",
      {},
      make("caption", {}, "How sure somebody can become of something about you"),
      make(
        "thead",
        {},
        make(
          "tr",
          {},
          make("th", { scope: "col" }, "before they see your report"),
          make("th", { scope: "col" }, "after that, at most"),
        ),
      ),
      make("tbody", {}, ...rows),
    ),
    warning ? paragraph(make("strong", {}, warning)) : null,
    make("p", { class: "soft" }, words.epsilonOf(plan)),
  );
}

/** The questions. */
export function questionsStep(
  { asked }: Study,
  back: () => void,
  done: (answers: Answer[]) => void,
): Node[] {
  const button = make("button", { type: "submit" }, "Make my report");
  const form = makeForm(asked.questions, button, done);
  button.before(make("button", { type: "button", class: "second", click: back }, "Back"));
  return [
    make("h2", { tabindex: "-1" }, "Questions"),
    paragraph("All of this stays on your device. Nothing is sent when the report is made."),
    form,
    make(
      "p",
      { class: "soft" },
      "The report is made once, and answers cannot be changed afterwards. You will see all of it " +
        "before it is sent.",
    ),
  ];
}

/** The report, before it is sent. */
export function reviewStep({ plan }: Study, report: Uint8Array, note: string, send: Node): Node[] {
  const facts = readReport(report);
  return [
    make("h2", { tabindex: "-1" }, "This is all that leaves your device"),
    note ? make("div", { class: "note" }, paragraph(note)) : "",
    paragraph(`Your report has ${facts.size} bytes. `, make("strong", {}, "Here are all of them.")),
    showBytes(facts),
    make("h3", {}, "What can be concluded from it"),
    paragraph(words.seedIn(plan)),
    paragraph(make("strong", {}, words.boundOn(0.5, plan)), ` ${words.AVERAGES}`),
    make("h3", {}, "What stays here"),
    make("ul", {}, ...words.STAYS.map((text) => make("li", {}, text))),
    send,
  ].map(asNode);
}

/** What the person may keep. */
export function receiptStep({ plan, asked }: Study, report: Uint8Array): Node[] {
  const { reportId, hex } = readReport(report);
  const text = words.receiptText(asked.title, plan, reportId, hex);
  const address = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  const said = make("span");
  const copy = () =>
    navigator.clipboard.writeText(text).then(
      () => (said.textContent = "Copied."),
      () => (said.textContent = "The browser does not allow it. Select the lines below."),
    );
  const facts = [
    ["report id", reportId],
    ["plan id", plan.id],
    ["all bytes of the report", hex],
  ];
  return [
    make("h2", { tabindex: "-1" }, "Thank you. The server has your report."),
    paragraph(
      "There is nothing more to do. The report is in this browser, too: opening this page again ",
      "shows this receipt and sends nothing.",
    ),
    make(
      "p",
      { class: "buttons" },
      make("a", { class: "button", href: address, download: "receipt.txt" }, "Save the receipt"),
      make("button", { type: "button", class: "second", click: () => void copy() }, "Copy it"),
    ),
    make("p", { role: "status", class: "soft" }, said),
    make("dl", { class: "bytes" }, ...facts.map(([name, value]) => factOf(name, value))),
    make("h3", {}, "What the receipt is for"),
    paragraph(
      "With the report id you can ask whether your report was counted, and with the bytes you ",
      "can see that it was counted as you sent it. Whoever has the report id knows which report ",
      "is yours: show it only to those who may know.",
    ),
    asked.contact ? paragraph("Who to ask: ", contactOf(asked.contact)) : "",
  ].map(asNode);
}

function factOf(name: string, value: string): HTMLElement {
  return make(
    "div",
    { class: "part" },
    make("dt", {}, make("b", {}, name)),
    make("dd", {}, make("code", { class: "hex" }, value)),
  );
}

/** Why the page cannot go on. */
export function stopStep(problem: string, again: (() => void) | null): Node[] {
  const button = again && make("button", { type: "button", click: again }, "Try again");
  return [
    make("h2", { tabindex: "-1" }, "This study cannot be answered here"),
    make("div", { class: "alarm" }, paragraph(problem)),
    button ? make("p", { class: "buttons" }, button) : "",
  ].map(asNode);
}

/** An address of electronic mail can be written to; anything else is text. */
function contactOf(contact: string): Node {
  return /^[\w.+-]+@[\w-]+(\.[\w-]+)+$/.test(contact)
    ? make("a", { href: `mailto:${contact}` }, contact)
    : foreign(contact);
}

function asNode(part: Node | string): Node {
  return typeof part === "string" ? document.createTextNode(part) : part;
}
