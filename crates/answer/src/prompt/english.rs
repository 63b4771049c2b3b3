//! The English wordings.

use ken_probe::{FewShot, worked_examples};

use super::Wording;
use super::full::FullWording;

pub(super) const ENGLISH: Wording = Wording {
    question: "Question: ",
    answer: "Answer:",
    mastered: "Mastered:",
    certain: "Certain:",
    verdicts: ["yes", "no"],
    from_memory: FewShot {
        instruction: "Answer the question with a name, a number or a short phrase. \
Write nothing else.",
        examples: worked_examples! {
            "Question: what is the tallest land animal\nAnswer:" => "the giraffe",
            "Question: who painted the ceiling of the sistine chapel\nAnswer:" => "Michelangelo",
            "Question: when did the first world war end\nAnswer:" => "11 November 1918",
            "Question: how many strings does a violin have\nAnswer:" => "four",
        },
    },
    from_evidence: FewShot {
        instruction: "Find the answer to the question in the passages. Answer with a name, \
a number or a short phrase, copied from a passage. Write nothing else.",
        examples: worked_examples! {
            "[1] Giraffe: The giraffe of the African savanna is the tallest animal that lives on land; a grown bull reaches 5.5 metres.\n[2] Elephant: The African elephant is the heaviest land animal, at up to six tonnes.\nQuestion: what is the tallest land animal\nAnswer:"
                => "the giraffe",
            "[1] Harbour Bell: The bronze bell over Orsand harbour was cast in 1734 by Maria Tolvik. It has been rung every evening since then.\nQuestion: who made the bell of orsand harbour\nAnswer:"
                => "Maria Tolvik",
            "[1] Street market: Traders meet in the square every second Saturday.\n[2] Treaty of Laun: After three years of talks the treaty was signed on 9 May 1816, and came into force the following spring.\nQuestion: when was the treaty of laun signed\nAnswer:"
                => "9 May 1816",
            "[1] Violin: A violin has four strings, tuned in perfect fifths, and is played with a bow.\nQuestion: how many strings does a violin have\nAnswer:"
                => "four",
        },
    },
    // Each letter is right once, so that the model favors none.
    choice_from_memory: FewShot {
        instruction: "Answer each question with the letter of the right choice. Write nothing else.",
        examples: worked_examples! {
            "Question: what is the tallest land animal\nA. the elephant\nB. the camel\nC. the giraffe\nD. the moose\nAnswer:"
                => "C",
            "Question: how many strings does a violin have\nA. four\nB. five\nC. six\nD. eight\nAnswer:"
                => "A",
            "Question: which of these metals is liquid in a warm room\nA. iron\nB. copper\nC. tin\nD. mercury\nAnswer:"
                => "D",
            "Question: in which year did the first world war end\nA. 1912\nB. 1918\nC. 1923\nD. 1931\nAnswer:"
                => "B",
        },
    },
    choice_from_evidence: FewShot {
        instruction: "Read the passages, and answer each question with the letter of the right \
choice. Write nothing else.",
        examples: worked_examples! {
            "[1] Giraffe: The giraffe of the African savanna is the tallest animal that lives on land.\nQuestion: what is the tallest land animal\nA. the elephant\nB. the camel\nC. the giraffe\nD. the moose\nAnswer:"
                => "C",
            "[1] Harbour Bell: The bronze bell over Orsand harbour was cast in 1734 by Maria Tolvik.\nQuestion: who made the bell of orsand harbour\nA. Maria Tolvik\nB. Edda Rahn\nC. Jon Selm\nD. Piet Orsand\nAnswer:"
                => "A",
            "[1] Thermometer: Mercury is liquid in a warm room, and rises in the glass.\nQuestion: which of these metals is liquid in a warm room\nA. iron\nB. copper\nC. tin\nD. mercury\nAnswer:"
                => "D",
            "[1] Treaty of Laun: After three years of talks the treaty was signed on 9 May 1816.\nQuestion: in which year was the treaty of laun signed\nA. 1813\nB. 1816\nC. 1821\nD. 1830\nAnswer:"
                => "B",
        },
    },
    background: "Background:",
    verbalize: FewShot {
        instruction: "For each question, write what an encyclopedia says that helps to answer it. \
Write one short paragraph, and begin with its content.",
        examples: worked_examples! {
            "Question: what is the tallest land animal\nBackground:"
                => "The giraffe of the African savanna is the tallest animal that lives on land. A grown bull stands more than five metres high, most of which is legs and neck, so that it feeds on leaves out of reach of all other grazers. The African elephant is heavier, but not as tall.",
            "Question: when did the first world war end\nBackground:"
                => "The First World War began in the summer of 1914. Its fighting ended with an armistice between Germany and the Allies, which took effect on 11 November 1918. The peace treaty with Germany was signed at Versailles in June of the following year.",
            "Question: how many strings does a violin have\nBackground:"
                => "The violin is the smallest and highest of the common bowed instruments, above viola and cello. Its four strings are tuned in perfect fifths, to G, D, A and E, and are bowed or plucked.",
        },
    },
    no_answer: "I do not know.",
    full: FullWording {
        from_evidence: FewShot {
            instruction: "You answer questions about a collection of documents. Each message holds passages from it with their \
numbers in square brackets, and then a question.

- Begin with the answer itself: the name, number, command or setting that was asked for, written as the \
passages write it. Do not repeat the question.
- Add what the reader needs beside it, in a sentence or two. If it takes several steps, list them.
- Write commands and settings as `code`, and after each sentence the number of its passage, as in [1].
- Where passages contradict one another, give the answer of each, and say that they differ.
- If no passage says exactly what was asked, even if they treat its subject, reply \"The documents do not say.\"",
            // The best passage comes last, as in the prompt.
            examples: worked_examples! {
                "[2] Ferry: The ferry to Laun leaves at eight and at noon. Bicycles travel free; a car costs 12 crowns, and must be booked with `--vehicle`.\n[1] Street market: Traders meet in the square every second Saturday.\n\nQuestion: What does it cost to take my car over to Laun?\nAnswer:"
                    => "12 crowns [2]. The car must be booked with `--vehicle` [2].",
                "[2] Tide gauge: The gauge measures every ten minutes, and keeps 4096 values.\n[1] Tide log: The log is kept in `/var/tide/log`. Without options it prints the last 30 days.\n\nQuestion: How many megabytes may the tide log have at most?\nAnswer:"
                    => "The documents do not say.",
                "[2] Street market: Traders meet in the square every second Saturday.\n[1] Harbour guide: The bronze bell over Orsand harbour was cast in 1734 by Maria Tolvik. Visitors may ring it from May to September: ask the harbour office for the key, climb the north stair and pull the left rope twice.\n\nQuestion: How can I ring the bell of Orsand?\nAnswer:"
                    => "You can ring it from May to September [1]:\n\n1. Ask the harbour office for the key [1].\n2. Climb the north stair [1].\n3. Pull the left rope twice [1].",
                "[2] Harbour guide: The harbour office is open until five.\n[1] Treaty of Laun: The treaty was signed after three years of talks, and came into force the following spring.\n\nQuestion: Who paid for the talks about the treaty of Laun?\nAnswer:"
                    => "The documents do not say.",
                "[2] Harbour guide: The harbour office is open until five.\n[1] Treaty of Laun: After three years of talks the treaty was signed on 9 May 1816, and came into force the following spring.\n\nQuestion: When was the treaty of Laun signed?\nAnswer:"
                    => "On 9 May 1816 [1]. It came into force the following spring [1].",
                "[2] Harbour guide: Boats longer than 9 metres need a pilot.\n[1] Tide log: With `--since DATE` the log prints what was measured from that day on.\n\nQuestion: Which option of the tide log sends a warning to the harbour office?\nAnswer:"
                    => "The documents do not say.",
                "[2] Tide gauge: The gauge measures every ten minutes.\n[1] Tide log: The log is kept in `/var/tide/log`. With `--since DATE` it prints what was measured from that day on; without it the last 30 days are printed.\n\nQuestion: Which option shows only what the tide log holds from a certain day on?\nAnswer:"
                    => "`--since DATE` [1]. Without it the log prints the last 30 days [1].",
            },
        },
        from_memory: FewShot {
            instruction: "Answer each question in a sentence or two, or in steps where it takes several. Begin \
with the answer itself. Write commands and settings as `code`.",
            examples: worked_examples! {
                "Question: How many strings does a violin have?\nAnswer:"
                    => "A violin has four strings, tuned in perfect fifths.",
                "Question: How do I boil an egg?\nAnswer:"
                    => "It takes about eight minutes:\n1. Bring water to the boil.\n2. Put the egg in, and wait for eight minutes.\n3. Cool it under cold water.",
                "Question: hello\nAnswer:" => "Hello! What would you like to know?",
                "Question: When did the First World War end?\nAnswer:"
                    => "The First World War ended on 11 November 1918, with an armistice.",
            },
        },
        ends: ["\n\nQuestion:", "\n\n["],
        remembered: "From memory, not from the documents: ",
        says_nothing: "The documents do not say.",
        found: "The following passages were found for the question. Rely on them where they answer it, and answer as you \
would without them where they do not.",
    },
};
