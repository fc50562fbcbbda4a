/**
 * The page on which a person answers: what must hold before anything is asked.
 *
 * Owns the beginning: cryptography, the plan and the storage must be there, and the plan must be
 * one that can be answered safely. Otherwise the page says why, and makes nothing.
 */

import { browserStore, Device, DpcovError, type Plan, readPlan } from "./dpcov.js";
import { byId } from "./elements.js";
import { Flow, stop } from "./flow.js";
import { questionnaireOf, StudyError } from "./questions.js";
import type { Study } from "./steps.js";
import * as words from "./words.js";

const ADDRESS = "plan";

async function start(): Promise<void> {
  if (!globalThis.crypto?.subtle) return stop(words.NEEDS_HTTPS);
  const text = await textOfPlan();
  if (text === null) {
    addEventListener("online", () => location.reload(), { once: true });
    return stop(words.NO_PLAN, () => location.reload());
  }
  let study: Study;
  try {
    study = studyOf(await readPlan(text));
  } catch (problem) {
    if (problem instanceof DpcovError || problem instanceof StudyError) {
      return stop(words.unusable(problem.message));
    }
    throw problem;
  }
  const { plan, asked } = study;
  byId("title").textContent = asked.title;
  byId("plan").textContent = `Plan ${plan.id.slice(0, 32)} …`;
  if (plan.missing === "refuse") return stop(words.REFUSES_GAPS);
  try {
    await new Flow(study, new Device({ store: browserStore() })).start();
  } catch (problem) {
    stop(problem instanceof DpcovError ? words.unusable(problem.message) : words.NEEDS_STORAGE);
  }
}

/** Ask the server what it asks; null if it cannot be reached or has no plan. */
async function textOfPlan(): Promise<string | null> {
  try {
    const answer = await fetch(ADDRESS, {
      credentials: "omit",
      referrerPolicy: "no-referrer",
      redirect: "error",
      cache: "no-cache",
    });
    return answer.ok ? await answer.text() : null;
  } catch {
    return null;
  }
}

function studyOf(plan: Plan): Study {
  return { plan, asked: questionnaireOf(plan) };
}

void start();
