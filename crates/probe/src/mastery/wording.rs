//! The prompts that ask for questions and judge them, in English and in Chinese.

use std::ops::Range;

use ken_language::Prompt;

use super::pair::{AnswersFrom, Stated};
use super::spans::Span;
use crate::few_shot::FewShot;
use crate::normalize::{is_mostly_chinese, on_one_line};
use crate::worked_examples;

/// What replaces the answer in a sentence.
const GAP: &str = "____";

/// The words of prompts in one language.
pub(super) struct Wording {
    title: &'static str,
    sentence: &'static str,
    /// Comes before the kind of the missing thing.
    missing: &'static str,
    /// The names of kinds, in the order of `Kind`.
    kinds: [&'static str; 6],
    question: &'static str,
    answer: &'static str,
    /// Comes before the judgment.
    judged: &'static str,
    /// The judge's continuations: yes and no.
    pub(super) verdicts: [&'static str; 2],
    write: FewShot,
    compose: FewShot,
    read: FewShot,
    judge: FewShot,
}

impl Wording {
    /// The words in the language of most of the text.
    pub(super) fn of(sentence: &str) -> &'static Self {
        if is_mostly_chinese(sentence) {
            &CHINESE
        } else {
            &ENGLISH
        }
    }

    /// Asks for a question about the answer at `answer` in the sentence. The answer itself is left out: small models
    /// would copy it into the question.
    pub(super) fn write(&self, stated: Stated<'_>, answer: &Span) -> Prompt {
        let Range { start, end } = answer.bytes;
        let gap = format!(
            "{}{GAP}{}",
            &stated.sentence[..start],
            &stated.sentence[end..]
        );
        let facts = self.facts(stated.title, &gap);
        let kind = self.kinds[answer.kind as usize];
        self.write.prompt(format!(
            "{facts}{}{kind}\n{}",
            self.missing,
            self.question.trim_end()
        ))
    }

    /// Asks for a question about the sentence together with its answer, different from the earlier ones, which are
    /// given one per line.
    pub(super) fn compose(&self, stated: Stated<'_>, before: &[String]) -> Prompt {
        let facts = self.facts(stated.title, stated.sentence);
        let before = before
            .iter()
            .map(|line| format!("{}{line}\n", self.question));
        let before: String = before.collect();
        self.compose
            .prompt(format!("{facts}{before}{}", self.question.trim_end()))
    }

    /// Asks for the answer that the sentence gives to `question`.
    pub(super) fn read(&self, stated: Stated<'_>, question: &str) -> Prompt {
        let facts = self.facts(stated.title, stated.sentence);
        self.read.prompt(format!(
            "{facts}{}{question}\n{}",
            self.question,
            self.answer.trim_end()
        ))
    }

    /// Asks whether the sentence gives `answer` to `question`.
    pub(super) fn judge(&self, stated: Stated<'_>, question: &str, answer: &str) -> Prompt {
        let facts = self.facts(stated.title, stated.sentence);
        self.judge.prompt(format!(
            "{facts}{}{question}\n{}{answer}\n{}",
            self.question, self.answer, self.judged
        ))
    }

    /// Title and sentence, one per line.
    fn facts(&self, title: &str, sentence: &str) -> String {
        let title = match title.trim() {
            "" => String::new(),
            title => format!("{}{}\n", self.title, on_one_line(title)),
        };
        format!("{title}{}{}\n", self.sentence, on_one_line(sentence))
    }

    /// What comes before an answer.
    pub(super) fn answer_label(&self) -> &'static str {
        self.answer.trim_end()
    }

    /// What a model may write before a question.
    pub(super) fn labels(&self) -> [&'static str; 3] {
        [self.question.trim_end(), "Q:", "问："]
    }
}

/// A fingerprint of the words: pairs written and judged with other words must not be mixed with these.
pub fn fingerprint(answers: AnswersFrom) -> String {
    let mut words = Vec::new();
    for wording in [&ENGLISH, &CHINESE] {
        words.extend([
            wording.title,
            wording.sentence,
            wording.missing,
            wording.question,
            wording.answer,
            wording.judged,
        ]);
        words.extend(wording.verdicts);
        words.extend(wording.kinds);
        for task in [&wording.write, &wording.read, &wording.judge] {
            words.extend(task.texts());
        }
        if answers == AnswersFrom::Writer {
            words.extend(wording.compose.texts());
        }
    }
    ken_language::fingerprint_of_texts(&words)
}

const ENGLISH: Wording = Wording {
    title: "Topic: ",
    sentence: "Sentence: ",
    missing: "Missing: ",
    kinds: [
        "a year", "a date", "a number", "a name", "a title", "a thing",
    ],
    question: "Question: ",
    answer: "Answer: ",
    judged: "The sentence gives this answer:",
    verdicts: [" True", " False"],
    write: FewShot {
        instruction: "In each sentence something is missing. A question is written that asks for \
it in the words of the sentence, and names what it is about.",
        examples: worked_examples! {
            "Topic: Harbour Bell\nSentence: The bronze bell over Orsand harbour was cast in ____ by Maria Tolvik.\nMissing: a year\nQuestion:"
                => "In what year was the bronze bell over Orsand harbour cast?",
            "Topic: Marie Curie\nSentence: ____ discovered polonium and radium with her husband in Paris.\nMissing: a name\nQuestion:"
                => "Who discovered polonium and radium with her husband?",
            "Topic: Giraffe\nSentence: They usually live in the savannas of ____, where they eat acacia leaves.\nMissing: a name\nQuestion:"
                => "Where do giraffes usually live?",
            "Topic: Violin\nSentence: The instrument has ____ strings, which are tuned in fifths.\nMissing: a number\nQuestion:"
                => "How many strings does a violin have?",
            "Topic: Treaty of Laun\nSentence: After long talks it was signed on ____ by King Edvard and eleven dukes.\nMissing: a date\nQuestion:"
                => "When was the Treaty of Laun signed by King Edvard and eleven dukes?",
            "Topic: Heart\nSentence: It is a muscle that pumps ____ through the body.\nMissing: a thing\nQuestion:"
                => "What does the heart pump through the body?",
        },
    },
    compose: FewShot {
        instruction: "To each sentence, questions are written that it answers, one after the other, each with its \
answer in the words of the sentence. A question names what it is about, and can be understood without the sentence.",
        examples: worked_examples! {
            "Topic: Harbour Bell\nSentence: The bronze bell over Orsand harbour was cast in 1734 by Maria Tolvik.\nQuestion:"
                => "In what year was the bronze bell over Orsand harbour cast? Answer: 1734",
            "Topic: Harbour Bell\nSentence: The bronze bell over Orsand harbour was cast in 1734 by Maria Tolvik.\nQuestion: In what year was the bronze bell over Orsand harbour cast? Answer: 1734\nQuestion:"
                => "Who cast the bronze bell over Orsand harbour? Answer: Maria Tolvik",
            "Topic: Giraffe\nSentence: They usually live in the savannas of Africa, where they eat acacia leaves.\nQuestion:"
                => "Where do giraffes usually live? Answer: the savannas of Africa",
            "Topic: Giraffe\nSentence: They usually live in the savannas of Africa, where they eat acacia leaves.\nQuestion: Where do giraffes usually live? Answer: the savannas of Africa\nQuestion:"
                => "What do giraffes eat? Answer: acacia leaves",
            "Topic: Violin\nSentence: The instrument has four strings, which are tuned in fifths.\nQuestion:"
                => "How many strings does a violin have? Answer: four",
        },
    },
    read: FewShot {
        instruction: "For each question, the answer that the sentence gives is written, in the \
words of the sentence.",
        examples: worked_examples! {
            "Topic: Giraffe\nSentence: They usually live in the savannas of Africa, where they eat acacia leaves.\nQuestion: Where do giraffes usually live?\nAnswer:"
                => "Africa",
            "Topic: Harbour Bell\nSentence: The bronze bell over Orsand harbour was cast in 1734 by Maria Tolvik.\nQuestion: Who cast the bell of Orsand harbour?\nAnswer:"
                => "Maria Tolvik",
            "Topic: Violin\nSentence: The instrument has four strings, which are tuned in fifths.\nQuestion: How many strings does a violin have?\nAnswer:"
                => "four",
            "Topic: Heart\nSentence: It is a muscle that pumps blood through the body.\nQuestion: What is the heart?\nAnswer:"
                => "a muscle",
        },
    },
    judge: FewShot {
        instruction: "For each question and answer, it is written whether the sentence gives \
this answer to the question.",
        examples: worked_examples! {
            "Topic: Harbour Bell\nSentence: The bronze bell over Orsand harbour was cast in 1734 by Maria Tolvik.\nQuestion: Who cast the bell of Orsand harbour?\nAnswer: Maria Tolvik\nThe sentence gives this answer:"
                => "True",
            "Topic: Violin\nSentence: The instrument has four strings, which are tuned in fifths.\nQuestion: How old is the violin?\nAnswer: four\nThe sentence gives this answer:"
                => "False",
            "Topic: Marie Curie\nSentence: She discovered polonium and radium with her husband.\nQuestion: Who was the husband of Marie Curie?\nAnswer: radium\nThe sentence gives this answer:"
                => "False",
            "Topic: Heart\nSentence: It is a muscle that pumps blood through the body.\nQuestion: What does the heart pump through the body?\nAnswer: blood\nThe sentence gives this answer:"
                => "True",
            "Topic: Treaty of Laun\nSentence: After long talks King Edvard signed it together with eleven dukes.\nQuestion: How many dukes signed the Treaty of Laun?\nAnswer: eleven\nThe sentence gives this answer:"
                => "True",
            "Topic: Giraffe\nSentence: Giraffes usually live in the savannas of Africa, where they eat acacia leaves.\nQuestion: What do giraffes eat?\nAnswer: Africa\nThe sentence gives this answer:"
                => "False",
        },
    },
};

const CHINESE: Wording = Wording {
    title: "主题：",
    sentence: "句子：",
    missing: "缺少：",
    kinds: ["年份", "日期", "数字", "名称", "标题", "事物"],
    question: "问题：",
    answer: "答案：",
    judged: "句子给出了这个答案：",
    verdicts: [" 是", " 否"],
    write: FewShot {
        instruction: "每个句子都缺少一处。用句子里的话写一个问题来问所缺的内容，并写明问的是什么对象。",
        examples: worked_examples! {
            "主题：港口铜钟\n句子：云沙港的铜钟由陆明远于____铸造。\n缺少：年份\n问题：" => "云沙港的铜钟是哪一年铸造的？",
            "主题：居里夫人\n句子：____与丈夫一起发现了钋和镭。\n缺少：名称\n问题：" => "谁与丈夫一起发现了钋和镭？",
            "主题：长颈鹿\n句子：它们生活在____，以金合欢树叶为食。\n缺少：事物\n问题：" => "长颈鹿生活在哪里？",
            "主题：小提琴\n句子：这种乐器有____弦，按纯五度调音。\n缺少：数字\n问题：" => "小提琴有几根弦？",
            "主题：兰水条约\n句子：经过多年谈判，条约于____由周远山和十一位公爵签订。\n缺少：日期\n问题：" => "兰水条约是什么时候签订的？",
            "主题：心脏\n句子：它把____输送到全身。\n缺少：事物\n问题：" => "心脏把什么输送到全身？",
        },
    },
    compose: FewShot {
        instruction: "为每个句子逐个写出它能回答的问题，并用句子里的话写出答案。问题要写明问的是什么对象，不看句子也能读懂。",
        examples: worked_examples! {
            "主题：港口铜钟\n句子：云沙港的铜钟由陆明远于1734年铸造。\n问题：" => "云沙港的铜钟是哪一年铸造的？答案：1734年",
            "主题：港口铜钟\n句子：云沙港的铜钟由陆明远于1734年铸造。\n问题：云沙港的铜钟是哪一年铸造的？答案：1734年\n问题：" => "云沙港的铜钟是谁铸造的？答案：陆明远",
            "主题：长颈鹿\n句子：它们生活在非洲草原，以金合欢树叶为食。\n问题：" => "长颈鹿生活在哪里？答案：非洲草原",
            "主题：小提琴\n句子：这种乐器有四根弦，按纯五度调音。\n问题：" => "小提琴有几根弦？答案：四根",
        },
    },
    read: FewShot {
        instruction: "用句子里的话写出句子对每个问题给出的答案。",
        examples: worked_examples! {
            "主题：长颈鹿\n句子：它们生活在非洲草原，以金合欢树叶为食。\n问题：长颈鹿生活在哪里？\n答案：" => "非洲草原",
            "主题：港口铜钟\n句子：云沙港的铜钟由陆明远于1734年铸造。\n问题：云沙港的铜钟是谁铸造的？\n答案：" => "陆明远",
            "主题：小提琴\n句子：这种乐器有四根弦，按纯五度调音。\n问题：小提琴有几根弦？\n答案：" => "四根",
            "主题：心脏\n句子：它把血液输送到全身。\n问题：心脏把什么输送到全身？\n答案：" => "血液",
        },
    },
    judge: FewShot {
        instruction: "判断句子是否给出了问题的这个答案。",
        examples: worked_examples! {
            "主题：港口铜钟\n句子：云沙港的铜钟由陆明远于1734年铸造。\n问题：云沙港的铜钟是谁铸造的？\n答案：陆明远\n句子给出了这个答案：" => "是",
            "主题：小提琴\n句子：这种乐器有四根弦，按纯五度调音。\n问题：小提琴有多长的历史？\n答案：四根\n句子给出了这个答案：" => "否",
            "主题：居里夫人\n句子：她与丈夫一起发现了钋和镭。\n问题：居里夫人的丈夫是谁？\n答案：镭\n句子给出了这个答案：" => "否",
            "主题：心脏\n句子：它把血液输送到全身。\n问题：心脏把什么输送到全身？\n答案：血液\n句子给出了这个答案：" => "是",
            "主题：兰水条约\n句子：经过多年谈判，条约由周远山和十一位公爵签订。\n问题：有几位公爵签订了兰水条约？\n答案：十一位\n句子给出了这个答案：" => "是",
            "主题：长颈鹿\n句子：长颈鹿生活在非洲草原，以金合欢树叶为食。\n问题：长颈鹿吃什么？\n答案：非洲草原\n句子给出了这个答案：" => "否",
        },
    },
};

#[cfg(test)]
mod tests {
    use ken_testing::has;

    use super::*;
    use crate::mastery::spans::Kind;

    #[test]
    fn examples_have_the_form_of_what_is_asked() {
        for wording in [&ENGLISH, &CHINESE] {
            for example in wording.write.examples {
                assert!(example.input.ends_with(wording.question.trim_end()));
                assert_eq!(example.input.matches(GAP).count(), 1);
                assert!(example.output.ends_with(['?', '？']));
                let kind = example.input.split(wording.missing).nth(1).unwrap();
                let kind = kind.lines().next().unwrap();
                assert!(wording.kinds.contains(&kind), "{kind}");
            }
            for example in wording.read.examples {
                assert!(example.input.ends_with(wording.answer.trim_end()));
                let sentence = example.input.split(wording.sentence).nth(1).unwrap();
                assert!(sentence.lines().next().unwrap().contains(example.output));
            }
            for example in wording.compose.examples {
                assert!(example.input.ends_with(wording.question.trim_end()));
                let sentence = example.input.split(wording.sentence).nth(1).unwrap();
                let (_, answer) = example.output.split_once(wording.answer).unwrap();
                assert!(sentence.lines().next().unwrap().contains(answer));
            }
            let yes = wording.verdicts[0].trim();
            let right = wording
                .judge
                .examples
                .iter()
                .filter(|one| one.output == yes);
            assert_eq!(2 * right.count(), wording.judge.examples.len());
            for example in wording.judge.examples {
                assert!(example.input.ends_with(wording.judged));
                assert!(
                    wording
                        .verdicts
                        .iter()
                        .any(|one| one.trim() == example.output)
                );
            }
        }
    }

    #[test]
    fn a_prompt_has_a_line_for_each_thing() {
        let stated = Stated {
            title: "",
            sentence: "It rang\nin 1871.",
        };
        let wording = Wording::of(stated.sentence);
        let answer = Span {
            kind: Kind::Year,
            bytes: 11..15,
        };
        assert_eq!(
            wording.write(stated, &answer).input,
            "Sentence: It rang in ____.\nMissing: a year\nQuestion:"
        );
        let before = ["When did it ring? Answer: 1871".to_owned()];
        assert_eq!(
            wording.compose(stated, &before).input,
            "Sentence: It rang in 1871.\nQuestion: When did it ring? Answer: 1871\nQuestion:"
        );
        assert_eq!(
            wording.read(stated, "When?").input,
            "Sentence: It rang in 1871.\nQuestion: When?\nAnswer:"
        );
        let stated = Stated {
            title: "铜钟",
            sentence: "它铸造于1871年。",
        };
        let prompt = Wording::of(stated.sentence).judge(stated, "何时铸造？", "1871年");
        has!(prompt, input: "主题：铜钟\n句子：它铸造于1871年。\n问题：何时铸造？\n答案：1871年\n句子给出了这个答案：");
    }
}
