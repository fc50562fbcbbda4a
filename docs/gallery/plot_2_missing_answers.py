"""
Missing answers and categories
==============================

Surveys have empty cells and answers in words. We take the women of the first page, give the codes
of their occupations back their words, and take answers away ourselves: so the truth is known.
"""

# %%
# A table with gaps
# -----------------
# Of the women above 30, four in ten do not rate their marriage. Nothing is filled in and no row is
# dropped: both would be done with the data, before the promise begins.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import statsmodels.api as sm
from beside_truth import count, draw

import dpcov

jobs = ["student", "unskilled", "white-collar", "teacher", "manager", "professional"]
complete = sm.datasets.fair.load_pandas().data
complete["occupation"] = pd.Categorical.from_codes(complete["occupation"].astype(int) - 1, jobs)

table = complete.copy()
silent = (table["age"] > 30) & (np.random.default_rng(0).random(len(table)) < 0.4)
table.loc[silent, "rate_marriage"] = np.nan

facts = {
    "rate_marriage": (1, 5),
    "age": (17, 45),
    "yrs_married": (0, 25),
    "children": (0, 6),
    "religious": (1, 4),
    "educ": (9, 20),
    "occupation": {"levels": jobs},
}
release = dpcov.release(table, epsilon=1.0, delta=1e-6, columns=facts, seed=1)
estimate = release.estimate()

# %%
# Which answers are missing, and for whom?
# ----------------------------------------
# The share of cells that are there is released with noise, for each column and each two of them.
# ``gaps()`` says what goes with a missing cell, as a list with a false discovery rate of 10 %: one
# line in ten may be wrong.

rated = table["rate_marriage"].notna()
share = release.observed.to_frame().loc["rate_marriage", "rate_marriage"]
print(f"rate_marriage is there in {share:.1%} of the rows; truth: {rated.mean():.1%}")
findings = list(estimate.gaps(about="table"))
truths = [table.loc[~rated, x.column].mean() - table.loc[rated, x.column].mean() for x in findings]
for finding, truth in zip(findings, truths, strict=True):
    print(finding.in_words)
    print(f"    truth: {truth:.2f}")
print(count([x.low for x in findings], [x.high for x in findings], truths, of="differences"))

# %%
# A list holds what stands out, and noise may be what makes a line stand out. So intervals of listed
# lines hold the truth a little less often than 95 % of the time.

# %%
# Occupations
# -----------
# A category is one column with levels that everybody knows. First the share of each level:

shares = list(estimate.categories.shares(about="table"))
true_shares = [(complete["occupation"] == each.level).mean() for each in shares]
low, high = [each.low for each in shares], [each.high for each in shares]

figure, ax = plt.subplots(figsize=(8, 3.2), layout="constrained")
names = [each.level for each in shares]
draw(ax, names, [each.share for each in shares], low, high, true_shares, of="share")
plt.show()
print(count(low, high, true_shares, of="shares"))

# %%
# Two of six levels are so rare that the noise of a share, about a percentage point, is as large as
# they are. The answers below leave them out or read them together with others, and say so.
#
# Then the mean of each number in each occupation. The true means are those of the rows in which
# both answers are there.

found, truths = [], []
for number in ("educ", "age", "children", "rate_marriage"):
    for each in estimate.categories.means(number, "occupation", about="table"):
        if each.is_told:
            rows = table["occupation"] == each.level
            deviation = table[number].std()
            center = table[number].mean()
            truth = (table.loc[rows, number].mean() - center) / deviation
            ends = [(x - center) / deviation for x in (each.mean, each.low, each.high)]
            found.append((f"{number}, {each.level}", *ends))
            truths.append(truth)
names, means, low, high = zip(*found, strict=True)

figure, ax = plt.subplots(figsize=(8, 6), layout="constrained")
draw(ax, names, means, low, high, truths, of="mean in the group, in standard deviations")
plt.show()
print(count(low, high, truths, of="means of groups"))

# %%
# How strongly occupation goes with each number: η² is the share of its variance that lies between
# occupations. Rare occupations are read as one, and the answer names them. So does the truth here;
# with all six apart it is larger.

for line in estimate.categories.associations(about="table"):
    pooled = {level.split("=")[1] for level in line.pooled}
    groups = table["occupation"].astype(str).where(~table["occupation"].isin(pooled), "others")
    number = next(name for name in (line.first, line.second) if name != "occupation")
    explained = table.groupby(groups)[number].transform("mean").where(table[number].notna())
    print(line.in_words)
    print(f"    truth: {explained.var() / table[number].var():.3f}")

# %%
# What the gaps cost
# ------------------
# Correlations are those of the rows in which both cells are there. Gaps that go with age can move
# them, with and without privacy, and no method can see that from the table alone. Here we can: the
# diamonds are the truth of the complete table.

numbers = [name for name in facts if name != "occupation"]
lines = [estimate[a, b] for i, a in enumerate(numbers) for b in numbers[i + 1 :]]
values, low, high = zip(*((each.released, *each.interval) for each in lines), strict=True)
truth = [complete[each.first].corr(complete[each.second]) for each in lines]

figure, ax = plt.subplots(figsize=(8, 5), layout="constrained")
draw(ax, [f"{each.first} – {each.second}" for each in lines], values, low, high, truth)
plt.show()
print(count(low, high, truth, of="correlations"))
