//! The Chinese wordings, for questions that are mostly written in Han characters.

use ken_language::WorkedExample;
use ken_probe::{FewShot, worked_examples};

use super::Wording;
use super::full::FullWording;

/// How to read passages and answer from them.
macro_rules! chinese_reading {
    () => {
        "你根据文档回答问题。每条消息先给出若干段落，段落前有方括号编号，然后是一个问题。

- 先直接回答：写出所问的名称、数字、命令或设置，与段落中的写法一致。不要重复问题。
- 再用一两句话补充读者需要的内容。需要几个步骤时，逐条列出。
- 命令和设置写成`代码`，每句话之后写出它所依据的段落编号，例如[1]。
- 段落互相矛盾时，写出每个段落的答案，并说明它们不一致。"
    };
}

/// Questions about passages with their answers. The best passage comes last, as in the prompt.
const READING: &[WorkedExample<'static>] = worked_examples! {
    "[2] 渡船: 去兰水的渡船八点和正午开。自行车免费，汽车收费12克朗，须用`--vehicle`预订。\n[1] 集市: 商贩每隔一周在广场上聚集。\n\n问题：开车去兰水要多少钱？\n答案："
        => "12克朗[2]。汽车须用`--vehicle`预订[2]。",
    "[2] 集市: 商贩每隔一周在广场上聚集。\n[1] 港口指南: 云沙港的铜钟由陆明远于1734年铸造。五月至九月游客可以敲钟：先到港务处取钥匙，从北侧楼梯上去，再拉两下左边的绳子。\n\n问题：怎样敲云沙港的铜钟？\n答案："
        => "五月至九月可以自己敲钟[1]：\n\n1. 到港务处取钥匙[1]。\n2. 从北侧楼梯上去[1]。\n3. 拉两下左边的绳子[1]。",
    "[2] 港口指南: 港务处五点关门。\n[1] 兰水条约: 经过三年谈判，条约于1816年5月9日签订，次年春天生效。\n\n问题：兰水条约是什么时候签订的？\n答案："
        => "1816年5月9日[1]。条约次年春天生效[1]。",
    "[2] 验潮仪: 验潮仪每十分钟测量一次。\n[1] 潮汐日志: 日志保存在`/var/tide/log`。用`--since 日期`可以列出从那天起的测量值，不用时列出最近30天的。\n\n问题：用哪个选项只列出某一天以后的潮汐日志？\n答案："
        => "`--since 日期`[1]。不用时列出最近30天的[1]。",
};

pub(super) const CHINESE: Wording = Wording {
    question: "问题：",
    answer: "答案：",
    mastered: "已掌握：",
    certain: "有把握：",
    verdicts: ["是", "否"],
    from_memory: FewShot {
        instruction: "用名称、数字或短语回答问题，不要写别的内容。",
        examples: worked_examples! {
            "问题：陆地上最高的动物是什么？\n答案：" => "长颈鹿",
            "问题：《静夜思》是谁写的？\n答案：" => "李白",
            "问题：第一次世界大战是哪一年结束的？\n答案：" => "1918年",
            "问题：小提琴有几根弦？\n答案：" => "四根",
        },
    },
    from_evidence: FewShot {
        instruction: "在段落中找出问题的答案。用段落里的名称、数字或短语回答，不要写别的内容。",
        examples: worked_examples! {
            "[1] 长颈鹿: 生活在非洲草原的长颈鹿是陆地上最高的动物，成年雄性可达五米半。\n[2] 非洲象: 非洲象是陆地上最重的动物。\n问题：陆地上最高的动物是什么？\n答案："
                => "长颈鹿",
            "[1] 港口铜钟: 云沙港的铜钟由陆明远于1734年铸造，此后每天傍晚都会敲响。\n问题：云沙港的铜钟是谁铸造的？\n答案：" => "陆明远",
            "[1] 集市: 商贩每隔一周在广场上聚集。\n[2] 兰水条约: 经过三年谈判，条约于1816年5月9日签订，次年春天生效。\n问题：兰水条约是什么时候签订的？\n答案："
                => "1816年5月9日",
            "[1] 小提琴: 小提琴有四根弦，按纯五度调音，用弓演奏。\n问题：小提琴有几根弦？\n答案：" => "四根",
        },
    },
    // Each letter is right once, so that the model favors none.
    choice_from_memory: FewShot {
        instruction: "用正确选项的字母回答每个问题，不要写别的内容。",
        examples: worked_examples! {
            "问题：陆地上最高的动物是什么？\nA. 大象\nB. 骆驼\nC. 长颈鹿\nD. 驼鹿\n答案：" => "C",
            "问题：小提琴有几根弦？\nA. 四根\nB. 五根\nC. 六根\nD. 八根\n答案：" => "A",
            "问题：下列金属中哪一种在室温下是液体？\nA. 铁\nB. 铜\nC. 锡\nD. 汞\n答案：" => "D",
            "问题：第一次世界大战是哪一年结束的？\nA. 1912年\nB. 1918年\nC. 1923年\nD. 1931年\n答案：" => "B",
        },
    },
    choice_from_evidence: FewShot {
        instruction: "阅读段落，用正确选项的字母回答每个问题，不要写别的内容。",
        examples: worked_examples! {
            "[1] 长颈鹿: 生活在非洲草原的长颈鹿是陆地上最高的动物。\n问题：陆地上最高的动物是什么？\nA. 大象\nB. 骆驼\nC. 长颈鹿\nD. 驼鹿\n答案：" => "C",
            "[1] 港口铜钟: 云沙港的铜钟由陆明远于1734年铸造。\n问题：云沙港的铜钟是谁铸造的？\nA. 陆明远\nB. 周远山\nC. 沈青\nD. 何一舟\n答案：" => "A",
            "[1] 温度计: 汞在室温下是液体，会在玻璃管中上升。\n问题：下列金属中哪一种在室温下是液体？\nA. 铁\nB. 铜\nC. 锡\nD. 汞\n答案：" => "D",
            "[1] 兰水条约: 经过三年谈判，条约于1816年5月9日签订。\n问题：兰水条约是哪一年签订的？\nA. 1813年\nB. 1816年\nC. 1821年\nD. 1830年\n答案："
                => "B",
        },
    },
    background: "背景：",
    verbalize: FewShot {
        instruction: "针对每个问题，写出百科全书中有助于回答它的内容。只写一个短段落，直接从内容开始。",
        examples: worked_examples! {
            "问题：陆地上最高的动物是什么？\n背景："
                => "生活在非洲草原的长颈鹿是陆地上最高的动物。成年雄性身高超过五米，其中大部分是腿和脖子，因此能吃到其他食草动物够不着的树叶。非洲象更重，但没有那么高。",
            "问题：《静夜思》是谁写的？\n背景：" => "《静夜思》是唐代诗人李白的一首五言绝句，写诗人在秋夜望见月光而思念故乡。全诗四句，语言浅近，是流传最广的唐诗之一。",
            "问题：小提琴有几根弦？\n背景：" => "小提琴是常见弓弦乐器中最小、音域最高的一种，同族还有中提琴和大提琴。它有四根弦，按纯五度定为G、D、A、E，用弓拉奏，也可以拨奏。",
        },
    },
    no_answer: "我不知道。",
    full: FullWording {
        from_evidence: FewShot {
            instruction: chinese_reading!(),
            examples: READING,
        },
        or_refuse: FewShot {
            instruction: concat!(
                chinese_reading!(),
                "\n- 如果没有段落谈到这个问题，就回答“文档中没有说明。”"
            ),
            examples: READING,
        },
        from_memory: FewShot {
            instruction: "用一两句话回答每个问题，需要几个步骤时逐条列出。先直接回答。命令和设置写成`代码`。",
            examples: worked_examples! {
                "问题：小提琴有几根弦？\n答案：" => "小提琴有四根弦，按纯五度调音。",
                "问题：怎样煮鸡蛋？\n答案：" => "大约需要八分钟：\n1. 把水烧开。\n2. 放入鸡蛋，煮八分钟。\n3. 用冷水冷却。",
                "问题：你好\n答案：" => "你好！你想了解什么？",
                "问题：第一次世界大战是哪一年结束的？\n答案：" => "第一次世界大战于1918年结束。",
            },
        },
        ends: ["\n\n问题：", "\n\n["],
        remembered: "凭记忆回答，并非出自文档：",
        says_nothing: "文档中没有说明。",
        found: "以下段落是为这个问题找到的。段落能回答时以段落为准，不能回答时照常回答。",
    },
};
