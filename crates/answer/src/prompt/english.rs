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
    // Each letter is right once, so that none is favored.
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
            instruction: "You answer questions about a collection of documents. Each message holds passages \
from it with their numbers in square brackets, and then a question. Answer the question from the passages.

- Say what the passages say about the question, in sentences of your own. Never tell the reader to read a \
passage.
- End each sentence or step with the number of the passage that it comes from, as in [1] or [2][3].
- Begin with the answer itself. If it takes several steps or choices, list them. Write commands and settings \
as `code`.
- Use only what the passages say. Leave out passages that are about something else.
- If none of them says anything about the question, reply \"The documents do not say.\"
- If the message is a greeting or thanks, reply kindly in one sentence, without a number.",
            examples: worked_examples! {
                "[1] Harbour guide: The bronze bell over Orsand harbour was cast in 1734 by Maria Tolvik. Visitors may ring it from May to September: ask the harbour office for the key, climb the north stair and pull the left rope twice.\n[2] Street market: Traders meet in the square every second Saturday.\n\nQuestion: How can I ring the bell of Orsand?\n\nCite passages by their numbers, as in [1]."
                    => "You can ring the bell yourself from May to September [1]:\n\n1. Ask the harbour office for the key [1].\n2. Climb the north stair [1].\n3. Pull the left rope twice [1].",
                "[1] Street market: Traders meet in the square every second Saturday.\n[2] Ferry: The ferry to Laun leaves at eight and at noon.\n\nQuestion: Who was the first mayor of Orsand?\n\nCite passages by their numbers, as in [1]."
                    => "The documents do not say.",
                "[1] Ferry: The ferry to Laun leaves at eight and at noon.\n\nQuestion: hello\n\nCite passages by their numbers, as in [1]."
                    => "Hello! What would you like to know?",
            },
        },
        from_memory: FewShot {
            instruction: "You answer questions from what you know. Begin with the answer itself. If it takes \
several steps or choices, list them. Write commands and settings as `code`. Be brief. If you are not sure, say \
so, and make nothing up. If the message is a greeting or thanks, reply kindly in one sentence.",
            examples: &[],
        },
        cite: "\n\nCite passages by their numbers, as in [1].",
        says_nothing: "The documents do not say.",
    },
};
