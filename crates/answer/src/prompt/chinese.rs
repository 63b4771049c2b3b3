//! The Chinese wordings, for questions that are mostly written in Han characters.

use ken_language::WorkedExample;

use super::{Task, Wording};

pub(super) const CHINESE: Wording = Wording {
    question: "问题：",
    answer: "答案：",
    mastered: "已掌握：",
    certain: "有把握：",
    verdicts: ["是", "否"],
    from_memory: Task {
        instruction: "用名称、数字或短语回答问题，不要写别的内容。",
        examples: &FROM_MEMORY_EXAMPLES,
    },
    from_evidence: Task {
        instruction: "在段落中找出问题的答案。用段落里的名称、数字或短语回答，不要写别的内容。",
        examples: &FROM_EVIDENCE_EXAMPLES,
    },
    choice_from_memory: Task {
        instruction: "用正确选项的字母回答每个问题，不要写别的内容。",
        examples: &CHOICE_FROM_MEMORY_EXAMPLES,
    },
    choice_from_evidence: Task {
        instruction: "阅读段落，用正确选项的字母回答每个问题，不要写别的内容。",
        examples: &CHOICE_FROM_EVIDENCE_EXAMPLES,
    },
    background: "背景：",
    verbalize: Task {
        instruction: "针对每个问题，写出百科全书中有助于回答它的内容。只写一个短段落，直接从内容开始。",
        examples: &VERBALIZE_EXAMPLES,
    },
};

const FROM_MEMORY_EXAMPLES: [WorkedExample<'static>; 4] = [
    WorkedExample {
        input: "问题：陆地上最高的动物是什么？\n答案：",
        output: "长颈鹿",
    },
    WorkedExample {
        input: "问题：《静夜思》是谁写的？\n答案：",
        output: "李白",
    },
    WorkedExample {
        input: "问题：第一次世界大战是哪一年结束的？\n答案：",
        output: "1918年",
    },
    WorkedExample {
        input: "问题：小提琴有几根弦？\n答案：",
        output: "四根",
    },
];

const FROM_EVIDENCE_EXAMPLES: [WorkedExample<'static>; 4] = [
    WorkedExample {
        input: "[1] 长颈鹿: 生活在非洲草原的长颈鹿是陆地上最高的动物，成年雄性可达五米半。\n[2] 非洲象: 非洲象是陆地上最重的动物。\n问题：陆地上最高的动物是什么？\n答案：",
        output: "长颈鹿",
    },
    WorkedExample {
        input: "[1] 港口铜钟: 云沙港的铜钟由陆明远于1734年铸造，此后每天傍晚都会敲响。\n问题：云沙港的铜钟是谁铸造的？\n答案：",
        output: "陆明远",
    },
    WorkedExample {
        input: "[1] 集市: 商贩每隔一周在广场上聚集。\n[2] 兰水条约: 经过三年谈判，条约于1816年5月9日签订，次年春天生效。\n问题：兰水条约是什么时候签订的？\n答案：",
        output: "1816年5月9日",
    },
    WorkedExample {
        input: "[1] 小提琴: 小提琴有四根弦，按纯五度调音，用弓演奏。\n问题：小提琴有几根弦？\n答案：",
        output: "四根",
    },
];

/// Every letter is right once, so that none is favoured.
const CHOICE_FROM_MEMORY_EXAMPLES: [WorkedExample<'static>; 4] = [
    WorkedExample {
        input: "问题：陆地上最高的动物是什么？\nA. 大象\nB. 骆驼\nC. 长颈鹿\nD. 驼鹿\n答案：",
        output: "C",
    },
    WorkedExample {
        input: "问题：小提琴有几根弦？\nA. 四根\nB. 五根\nC. 六根\nD. 八根\n答案：",
        output: "A",
    },
    WorkedExample {
        input: "问题：下列金属中哪一种在室温下是液体？\nA. 铁\nB. 铜\nC. 锡\nD. 汞\n答案：",
        output: "D",
    },
    WorkedExample {
        input: "问题：第一次世界大战是哪一年结束的？\nA. 1912年\nB. 1918年\nC. 1923年\nD. 1931年\n答案：",
        output: "B",
    },
];

const CHOICE_FROM_EVIDENCE_EXAMPLES: [WorkedExample<'static>; 4] = [
    WorkedExample {
        input: "[1] 长颈鹿: 生活在非洲草原的长颈鹿是陆地上最高的动物。\n问题：陆地上最高的动物是什么？\nA. 大象\nB. 骆驼\nC. 长颈鹿\nD. 驼鹿\n答案：",
        output: "C",
    },
    WorkedExample {
        input: "[1] 港口铜钟: 云沙港的铜钟由陆明远于1734年铸造。\n问题：云沙港的铜钟是谁铸造的？\nA. 陆明远\nB. 周远山\nC. 沈青\nD. 何一舟\n答案：",
        output: "A",
    },
    WorkedExample {
        input: "[1] 温度计: 汞在室温下是液体，会在玻璃管中上升。\n问题：下列金属中哪一种在室温下是液体？\nA. 铁\nB. 铜\nC. 锡\nD. 汞\n答案：",
        output: "D",
    },
    WorkedExample {
        input: "[1] 兰水条约: 经过三年谈判，条约于1816年5月9日签订。\n问题：兰水条约是哪一年签订的？\nA. 1813年\nB. 1816年\nC. 1821年\nD. 1830年\n答案：",
        output: "B",
    },
];

const VERBALIZE_EXAMPLES: [WorkedExample<'static>; 3] = [
    WorkedExample {
        input: "问题：陆地上最高的动物是什么？\n背景：",
        output: "生活在非洲草原的长颈鹿是陆地上最高的动物。成年雄性身高超过五米，其中大部分是腿和脖子，因此能吃到其他食草动物够不着的树叶。非洲象更重，但没有那么高。",
    },
    WorkedExample {
        input: "问题：《静夜思》是谁写的？\n背景：",
        output: "《静夜思》是唐代诗人李白的一首五言绝句，写诗人在秋夜望见月光而思念故乡。全诗四句，语言浅近，是流传最广的唐诗之一。",
    },
    WorkedExample {
        input: "问题：小提琴有几根弦？\n背景：",
        output: "小提琴是常见弓弦乐器中最小、音域最高的一种，同族还有中提琴和大提琴。它有四根弦，按纯五度定为G、D、A、E，用弓拉奏，也可以拨奏。",
    },
];
