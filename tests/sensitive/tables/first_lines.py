"""First lines of CSV files: headers that exist, and people that became one."""

import numpy as np

HEADERS = {
    "medical visits": "visits,nvisits,ovisits,emergency,hospital,chronic,adl,afam,school,medicaid",
    "light chains": "age,sex,sample.yr,kappa,lambda,flc.grp,creatinine,mgus,futime,death",
    "insurance": "MOSTYPE,MAANTHUI,MSKB1,MSKB2,MAUT1,MINKM30,MINK3045,MINK123M,Purchase",
    "loans": "funded_amnt,delinq_2yrs,inq_last_6mths,open_il_6m,total_il_high_credit_limit,Class",
    "baseball": "year,stint,lg,g,ab,r,h,X2b,X3b,hr,rbi,sb,bb,so,hbp,sh",
    "youth": "ride.alc.driver,female,grade,age4,smoke,DriverLicense",
    "happiness": "year,workstat,reg16,mothfath16,owngun,y94,y96,y98,y00,y02",
    "flowers": "Sepal.Length,Sepal.Width,Petal.Length,Petal.Width,Species",
    "election": "V201507x,V201228,V202073,weight",
    "questionnaire": "id,Q1_a,Q1_b,Q2-1,x.1,x.2,_merge",
    "German": "Größe,Körpergewicht,Straße_km,Alter,Geschlecht",
    "French": "âge,revenu_mensuel,durée,santé,région",
    "Chinese": "年龄,收入,性别,身高,体重",
    "Hindi": "आयु,आय,लिंग",
    "Russian": "возраст,доход,пол",
    "one column": "income",
    "genes": "BRCA1,TP53,ENSG00000139618,HLA-DRB1,MT-CO1",
}
"""Each name is one word: shown and read as they are."""

WORDY = {
    "spaces": "Age at diagnosis,income (USD),mean radius,sepal length (cm)",
    "form": "How old are you?,Do you smoke?,Hours of sleep",
    "units": "BMI [kg/m²],bp (mmHg),share in %",
    "a space after the comma": "age, income, sleep",
    "World Bank": '"Population, total",GDP growth',
}
"""Read as they are, and shown when somebody says that they are names."""

NUMBERED = {
    "years": "country,2019,2020,2021",
    "row numbers": ",age,income",
    "row numbers of pandas": "Unnamed: 0,age,income",
    "dates": "patient,2020-01-01,2020-02-01",
    "a year": "2019",
    "twelve words and more": "age," + "word " * 13,
}
"""Headers, too, that nobody can tell from a row: refused until somebody says so."""

ROWS = {
    "Ada": "Ada Lovelace,12 St James Square,36,diabetes",
    "codes": "p0012,E11.9,72.5,f",
    "survey": "4,2,5,1,1,3",
    "mail": "ada@example.org,yes,5",
    "dates": "Lovelace,1815-12-10,uterine cancer",
    "German": "Müller,Hauptstraße 12,10115,Berlin,71.5",
    "Chinese": "张三,北京,36,糖尿病",
    "missing": "NA,Ada,London",
    "empty": "Ada,,London",
    "point": "Ada,.,London",
    "phone": "Ada,+49 30 1234567",
    "time": "Ada,12:30:00,home",
    "month": "Ada,12-Mar-1990",
    "identifier": "123e4567-e89b-12d3-a456-426614174000,home",
    "truth": "Ada,TRUE,London",
    "exponent": "Ada,1.5e3",
    "not a number": "Ada,nan,London",
    "quotes": '"Lovelace, Ada","36"',
    "money": "Ada,€ 1200",
    "age in words": "Ada,36 years",
    "answer": "Ada," + "felt dizzy after lunch " * 4,
    "page": "Ada,https://example.org/ada",
}
"""People: refused, and not repeated."""

TEXT_ROWS = {
    "name and illness": "Ada Lovelace,London,diabetes",
    "address": "Ada,Main Street 12,diabetes",
    "last name first": '"Lovelace, Ada",diabetes',
}
"""People without a number: no release can read them; they are not shown."""

WORD_ROWS = {"words": "Ada,London,diabetes", "Chinese words": "张三,北京,糖尿病"}
"""People of single words: nothing tells them from a header."""


def random_person(rng: np.random.Generator) -> str:
    """Return a row with at least one column of numbers, as a file without a header begins."""
    words = ["Ada", "Grace", "Lovelace", "London", "diabetes", "female", "Berlin", "single"]
    numbers = [
        lambda: str(rng.integers(0, 100)),
        lambda: f"{rng.normal(50, 20):.2f}",
        lambda: f"{rng.normal():.3e}",
        lambda: str(rng.choice(["", "NA", "N/A", "nan", "null", ".", "-", "?", "-9"])),
    ]
    cells = [str(rng.choice(words)) for _ in range(rng.integers(0, 5))]
    cells += [numbers[rng.integers(len(numbers))]() for _ in range(rng.integers(1, 5))]
    rng.shuffle(cells)
    return ",".join(cells)
