"""
A study in the browser, and no trusted table
============================================

In the local model nobody is given answers. People answer on a web page, their browser randomizes
what they said, and one report of 50 bytes leaves the device. We make up 60,000 of them.
"""

# %%
# The study
# ---------
# What is asked, and what is promised, stand in one plan. Its id covers every word.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from beside_truth import count, draw

import dpcov
from dpcov import collect, local

study = local.Study(
    title="Sleep and work",
    about="We are the Institute of Sleep at the University of Example. Taking part is voluntary.",
    contact="sleep@example.org",
    questions=[
        local.NumberQuestion("How old are you?", "age", low=18, high=90, unit="years"),
        local.NumberQuestion("How many hours do you sleep?", "sleep", low=3, high=12, step=0.5),
        local.ScaleQuestion(
            "How often do you feel stressed?",
            "stress",
            ["never", "seldom", "sometimes", "often", "always"],
        ),
        local.ScaleQuestion(
            "How content are you with your work?",
            "work",
            ["not at all", "a little", "well", "very"],
        ),
    ],
    minimum=2_000,
)
plan = study.plan(epsilon=2.0)
print(plan)

# %%
# ``dpcov collect serve plan.json`` serves this page. It says what is promised before it asks, and
# shows every byte before it is sent:
#
# .. image:: /images/study-page.png
#    :alt: The page of the study: its title, who asks, and what ε = 2 means in words and in a table
#    :width: 420px
#
# How many people does it need?
# -----------------------------
# Many more than a trusted table does: that is the price of trusting nobody. At best, all answers
# lie at the ends of their ranges. Answers vary less: with a quarter of that variance it takes
# about sixteen times as many people.

for correlation in (0.7, 0.5, 0.3):
    best = plan.people_needed(correlation=correlation)
    ordinary = plan.people_needed(correlation=correlation, variance=0.25)
    print(f"to see a correlation of {correlation}: {ordinary:,} people; at best {best:,}")

# %%
# Made-up people
# --------------
# Their answers lean on each other, as answers do. No row of ``rows`` is ever collected: it is here
# so that we know the truth.

people = 60_000
rng = np.random.default_rng(0)
common = rng.normal(size=people)
stress = np.clip(np.round(3 + 1.1 * common + 0.6 * rng.normal(size=people)), 1, 5)
sleep = np.clip(np.round(2 * (7.5 - 1.6 * common + rng.normal(size=people))) / 2, 3, 12)
age = np.round(rng.uniform(18, 90, people))
work = np.clip(np.round(4.6 - 0.8 * stress + 0.012 * age + 0.6 * rng.normal(size=people)), 1, 4)
rows = np.column_stack([age, sleep, stress, work])

# %%
# Each device randomizes its own row. The script in the page does that in the browser, and tests
# hold it to the same numbers; here it is done for all people at once. It has a seed, so the
# reports are marked as simulated, and only a collection of simulated ones takes them.

reports = local.simulate_reports(rows, plan, seed=1)
print(f"{len(reports):,} reports of {reports.shape[1]} bytes")
print("the first one:", reports[0].tobytes().hex(" "))

# %%
# The collection
# --------------
# The server keeps reports on the disk and counts each once. Nothing can be released before it is
# closed, or from fewer people than the plan says.

folder = Path(tempfile.mkdtemp()) / "collection"
with collect.Collection.create(folder, plan, simulated=True) as collection:
    collection.add_many(reports)
    collection.close()
    release = collection.release()
print(release)

# %%
# What they say together
# ----------------------
# The same release as from a table, with more noise in it.

estimate = release.estimate()
pairs = estimate.pairs()
low, high = estimate.correlation_interval(about="table")
at = pairs.first, pairs.second
truth = np.corrcoef(rows.T)[at]
names = [f"{plan.columns[i]} – {plan.columns[j]}" for i, j in zip(*at, strict=True)]

figure, ax = plt.subplots(figsize=(8, 3.4), layout="constrained")
draw(ax, names, pairs.released, low[at], high[at], truth)
plt.show()
print(count(low[at], high[at], truth, of="correlations"))

# %%
# The means, in the units of the questions:

for name, found, true in zip(plan.columns, release.location, rows.mean(axis=0), strict=True):
    print(f"{name:8} {found:7.2f}   truth {true:7.2f}")

# %%
# The same people in a trusted table
# ----------------------------------
# A release of the same rows at the same ε, by somebody who has them all, for comparison:

central = dpcov.release(rows, epsilon=2.0, delta=1e-6, seed=1).estimate()
ends = central.correlation_interval(about="table")
width = np.median((high - low)[at]), np.median((ends[1] - ends[0])[at])
print(f"median length of an interval: {width[0]:.3f} locally, {width[1]:.4f} from a trusted table")
