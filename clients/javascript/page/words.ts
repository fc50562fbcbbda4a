/**
 * The sentences of the page that are about promises, problems and refusals.
 *
 * Owns them, so that they can be read, judged and tested in one place. Labels of buttons and
 * headings stand where they are used.
 */

import type { Plan } from "./dpcov.js";
import {
  afterwards,
  factorOf,
  plainShare,
  shownChance,
  shownFactor,
  shownShare,
  strengthOf,
} from "./promise.js";

export const RATHER_NOT = "I would rather not answer";

const COIN = 2 ** 32;

/** The promise of ε, in plain words. */
export function promiseOf({ epsilon }: Plan): string {
  return (
    "Whatever you answer, anything that can be concluded from your report would have been at " +
    `most ${shownFactor(factorOf(epsilon))} times as likely with any other answers.`
  );
}

export function headingOfPromise({ epsilon }: Plan): string {
  return strengthOf(epsilon) === "weak" ? "A weak promise" : "What is promised to you";
}

/** What to think about before taking part, where the promise is weak; nothing where it is not. */
export function warningOf({ epsilon }: Plan): string {
  if (strengthOf(epsilon) !== "weak") return "";
  return (
    "Somebody may become almost sure of something about you. Take part only if you could live " +
    "with that."
  );
}

/** Where the numbers of the promise come from, for those who know the word. */
export function epsilonOf({ epsilon }: Plan): string {
  return (
    `This is ε-differential privacy in the local model, with ε\u00a0=\u00a0${epsilon}. It holds ` +
    "against everybody, those who run the study included, whatever else they know and however " +
    "much they compute."
  );
}

/** What has been told to this site before, with this plan; nothing if there was nothing. */
export function togetherOf(spent: number, { epsilon }: Plan): string {
  if (!spent) return "";
  const all = spent + epsilon;
  const factor = shownFactor(factorOf(all));
  return (
    "This browser has made reports for other plans of this site before. With this one, " +
    `ε\u00a0=\u00a0${Number(all.toPrecision(6))} in all: what can be concluded from all reports ` +
    `together would have been at most ${factor} times as likely with any other answers.`
  );
}

export const NOT_PROMISED = [
  "That nobody learns that you took part. The server sees that a report came from your network " +
    "address.",
  "That nothing is learned about people in general. That is what the study is for, and it may be " +
    "true of you whether you take part or not.",
  "That the study sent you the right page. Its code can be read, and the network view of your " +
    "browser shows all that it sends.",
];

/** What the seed says, given how the device chose it. */
export function seedIn({ coin, epsilon }: Plan): string {
  const chance = coin / COIN;
  return (
    "The seed stands for a random direction in the space of all answers. Your device tossed a " +
    `coin: with a chance of ${shownChance(chance)} it took a seed from those in whose direction ` +
    "your answers lie far out, otherwise one from the rest. Without a look at any answers, " +
    `${shownChance(plainShare(chance, epsilon))} of all seeds would be of the first kind. ` +
    "Nobody can see how the coin fell. A likelihood is left, and it has a limit:"
  );
}

export function boundOn(guess: number, { epsilon }: Plan): string {
  return (
    `Somebody who took something about you for ${shownChance(guess)} likely can take it for ` +
    `${shownShare(afterwards(guess, epsilon))} likely after reading the report, and no more.`
  );
}

export const AVERAGES =
  "In the reports of thousands of people the coins cancel out, and averages remain. That is what " +
  "the study is after.";

export const STAYS = [
  "Your answers. They were never stored, and the page forgot them when the report was made.",
  "A copy of the report, in the storage of this browser: a reload or a second try sends the same " +
    "50 bytes again. A second report would tell more about you, so none is ever made.",
];

export const MADE_BEFORE =
  "This browser had made a report before, perhaps in another tab. That one stands, and the " +
  "answers that you gave now were not used.";

export const WAITING =
  "The server does not have your report yet: there is no network, or the server is busy. The " +
  "report waits in this browser and will be sent when there is a network: while this page is " +
  "open, or when you open it again.";

/** What a server means that refuses a report for good. */
export function refusalOf(status: number, contact: string): string {
  const ask = contact ? ` You can ask: ${contact}.` : "";
  const said: Record<number, string> = {
    409:
      "The server has another report with the same id. Yours was not counted, and sending it " +
      "again would not help.",
    410: "The study is closed. Your report came too late and was not counted.",
    422:
      "The server takes reports for another plan now. Yours was not counted. Load the page again " +
      "to see what is asked now: an answer to that would be a second report.",
  };
  return (
    (said[status] ?? `The server refused your report (status ${status}). It was not counted.`) + ask
  );
}

export const NEEDS_HTTPS =
  "This page works only over https, or on the machine itself: without it the browser has no " +
  "cryptography. Nothing was made and nothing was sent.";

export const NEEDS_STORAGE =
  "This browser keeps no data for this page, so a reload could make a second report, which would " +
  "tell more about you. Allow the site to store data, or leave the private window. Nothing was " +
  "made and nothing was sent.";

export const NO_PLAN =
  "The server cannot be reached, so it is not known what is asked. Nothing is made or sent now; a " +
  "report that waits in this browser stays there.";

export const REFUSES_GAPS =
  "The plan of this study takes no report from somebody who leaves a question out, and the " +
  "silence would tell that there is one. This page does not answer such plans. Nothing was made " +
  "and nothing was sent.";

/** Why a plan is not answered. */
export function unusable(problem: string): string {
  return (
    "What the server asks cannot be answered safely. Nothing was made and nothing was sent. Tell " +
    `those who run the study: ${problem}`
  );
}

/** The text of the file that a person may keep. */
export function receiptText(title: string, plan: Plan, reportId: string, hex: string): string {
  return [
    "Receipt of a private report",
    "",
    `study:      ${title}`,
    `report id:  ${reportId}`,
    `plan id:    ${plan.id}`,
    `promise:    epsilon = ${plan.epsilon}, local model`,
    `report:     ${hex}`,
    "",
    "The report is all that left the device. Whoever has the report id knows which report is",
    "yours: show it only to those who may know.",
    "",
  ].join("\n");
}
