//! Rewrites a template's tree with a call of [`SPEND`] around every operand, argument and assigned value, and around
//! every piece of plain text. Its meaning is unchanged within the budget.

use minijinja::Error;
use minijinja::machinery::ast::{
    self, BinOpKind, Call, CallArg, CompareOp, Const, EmitExpr, Expr, Macro, Spanned, Stmt,
    UnaryOpKind, Var,
};
use minijinja::machinery::{Span, Token, WhitespaceConfig, tokenize};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Value;

use super::refused;

/// The functions that are inserted into the tree; no template can name them.
pub(super) const SPEND: &str = "\u{0}spend";
pub(super) const PRODUCT: &str = "\u{0}product";

/// Most words and signs within one pair of brackets.
const MOST_TOKENS: usize = 4000;
/// Most `elif` in a template, since each is nested in the one before.
const MOST_BRANCHES: usize = 1000;

/// Tests that only look at the kind of a value.
const OF_KINDS: [&str; 16] = [
    "boolean",
    "defined",
    "even",
    "false",
    "float",
    "int",
    "integer",
    "iterable",
    "mapping",
    "none",
    "number",
    "odd",
    "sequence",
    "string",
    "true",
    "undefined",
];

/// The options for parsing templates, as in Transformers' `apply_chat_template`.
pub(super) const WHITESPACE: WhitespaceConfig = WhitespaceConfig {
    keep_trailing_newline: false,
    lstrip_blocks: true,
    trim_blocks: true,
};

/// Refuses expressions that would exhaust the stack.
pub(super) fn check_length(source: &str) -> Result<(), Error> {
    let (mut within, mut branches) = (0, 0);
    for token in tokenize(source, false, SyntaxConfig, WHITESPACE) {
        let (token, _) = token?;
        within = match token {
            Token::TemplateData(_) | Token::VariableStart | Token::BlockStart => 0,
            _ => within + 1,
        };
        branches += usize::from(matches!(token, Token::Ident("elif")));
        if within > MOST_TOKENS || branches > MOST_BRANCHES {
            return Err(refused("one of its expressions is longer than any"));
        }
    }
    Ok(())
}

type Rewritten<T> = Result<T, Error>;

/// Rebuilds a node, each field rewritten by the function after its name.
macro_rules! node {
    ($all:ident::$kind:ident($from:expr) { $($fields:tt)* }) => {
        $all::$kind(node!($kind($from) { $($fields)* }))
    };
    ($kind:ident($from:expr) { $($field:ident: $rewritten:ident),* $(,)? }) => {
        Spanned::new(ast::$kind { $($field: $rewritten(&$from.$field)?),* }, $from.span())
    };
}

/// A statement of a template, or the whole template.
pub(super) fn statement<'a>(from: &Stmt<'a>) -> Rewritten<Stmt<'a>> {
    Ok(match from {
        Stmt::Template(of) => node!(Stmt::Template(of) { children: statements }),
        Stmt::EmitExpr(of) => node!(Stmt::EmitExpr(of) { expr: expression }),
        Stmt::EmitRaw(of) => {
            let value = Value::from(of.raw);
            let text = Expr::Const(Spanned::new(Const { value }, of.span()));
            Stmt::EmitExpr(Spanned::new(EmitExpr { expr: spent(text) }, of.span()))
        }
        Stmt::ForLoop(of) => node!(Stmt::ForLoop(of) {
            target: expression,
            iter: expression,
            filter_expr: maybe,
            recursive: same,
            body: statements,
            else_body: statements,
        }),
        Stmt::IfCond(of) => node!(Stmt::IfCond(of) {
            expr: expression,
            true_body: statements,
            false_body: statements,
        }),
        Stmt::WithBlock(of) => {
            node!(Stmt::WithBlock(of) { assignments: assignments, body: statements })
        }
        Stmt::Set(of) => node!(Stmt::Set(of) { target: expression, expr: operand }),
        Stmt::SetBlock(of) => {
            node!(Stmt::SetBlock(of) { target: expression, filter: maybe, body: statements })
        }
        Stmt::AutoEscape(of) => {
            node!(Stmt::AutoEscape(of) { enabled: expression, body: statements })
        }
        Stmt::FilterBlock(of) => {
            node!(Stmt::FilterBlock(of) { filter: expression, body: statements })
        }
        Stmt::Macro(of) => Stmt::Macro(made(of)?),
        Stmt::CallBlock(of) => node!(Stmt::CallBlock(of) { call: call, macro_decl: made }),
        Stmt::Continue(of) => node!(Stmt::Continue(of) {}),
        Stmt::Break(of) => node!(Stmt::Break(of) {}),
        Stmt::Do(of) => node!(Stmt::Do(of) { call: call }),
        // There is only one template.
        Stmt::Block(_)
        | Stmt::Import(_)
        | Stmt::FromImport(_)
        | Stmt::Extends(_)
        | Stmt::Include(_) => {
            return Err(refused("it refers to other templates, which there are not"));
        }
    })
}

fn expression<'a>(from: &Expr<'a>) -> Rewritten<Expr<'a>> {
    Ok(match from {
        Expr::Var(of) => node!(Expr::Var(of) { id: same }),
        Expr::Const(of) => node!(Expr::Const(of) { value: same }),
        Expr::Slice(of) => {
            node!(Expr::Slice(of) { expr: operand, start: maybe, stop: maybe, step: maybe })
        }
        Expr::UnaryOp(of) => node!(Expr::UnaryOp(of) { op: unary, expr: expression }),
        Expr::BinOp(of) => match of.op {
            BinOpKind::Mul => {
                let factors = vec![expression(&of.left)?, expression(&of.right)?];
                called(PRODUCT, factors, of.span())
            }
            BinOpKind::ScAnd | BinOpKind::ScOr => {
                node!(Expr::BinOp(of) { op: same, left: expression, right: expression })
            }
            _ => node!(Expr::BinOp(of) { op: same, left: operand, right: operand }),
        },
        Expr::Compare(of) => node!(Expr::Compare(of) { expr: operand, ops: comparisons }),
        Expr::IfExpr(of) => node!(Expr::IfExpr(of) {
            test_expr: expression,
            true_expr: expression,
            false_expr: maybe,
        }),
        Expr::Filter(of) => node!(Expr::Filter(of) { name: same, expr: maybe, args: arguments }),
        Expr::Test(of) if OF_KINDS.contains(&of.name) => {
            node!(Expr::Test(of) { name: same, expr: expression, args: arguments })
        }
        Expr::Test(of) => node!(Expr::Test(of) { name: same, expr: operand, args: arguments }),
        Expr::GetAttr(of) => node!(Expr::GetAttr(of) { expr: expression, name: same }),
        Expr::GetItem(of) => {
            node!(Expr::GetItem(of) { expr: expression, subscript_expr: operand })
        }
        Expr::Call(of) => Expr::Call(call(of)?),
        Expr::List(of) => node!(Expr::List(of) { items: operands }),
        Expr::Map(of) => node!(Expr::Map(of) { keys: operands, values: operands }),
    })
}

fn same<T: Clone>(from: &T) -> Rewritten<T> {
    Ok(from.clone())
}

fn statements<'a>(from: &[Stmt<'a>]) -> Rewritten<Vec<Stmt<'a>>> {
    from.iter().map(statement).collect()
}

fn expressions<'a>(from: &[Expr<'a>]) -> Rewritten<Vec<Expr<'a>>> {
    from.iter().map(expression).collect()
}

fn maybe<'a>(from: &Option<Expr<'a>>) -> Rewritten<Option<Expr<'a>>> {
    from.as_ref().map(expression).transpose()
}

fn operand<'a>(from: &Expr<'a>) -> Rewritten<Expr<'a>> {
    Ok(spent(expression(from)?))
}

fn operands<'a>(from: &[Expr<'a>]) -> Rewritten<Vec<Expr<'a>>> {
    from.iter().map(operand).collect()
}

fn assignments<'a>(from: &[(Expr<'a>, Expr<'a>)]) -> Rewritten<Vec<(Expr<'a>, Expr<'a>)>> {
    let assignment = |(target, value): &(_, _)| Ok((expression(target)?, operand(value)?));
    from.iter().map(assignment).collect()
}

fn comparisons<'a>(from: &[CompareOp<'a>]) -> Rewritten<Vec<CompareOp<'a>>> {
    let comparison = |CompareOp { op, expr }: &CompareOp<'a>| {
        let (op, expr) = (*op, operand(expr)?);
        Ok(CompareOp { op, expr })
    };
    from.iter().map(comparison).collect()
}

fn unary(from: &UnaryOpKind) -> Rewritten<UnaryOpKind> {
    Ok(match from {
        UnaryOpKind::Not => UnaryOpKind::Not,
        UnaryOpKind::Neg => UnaryOpKind::Neg,
    })
}

fn made<'a>(of: &Spanned<Macro<'a>>) -> Rewritten<Spanned<Macro<'a>>> {
    Ok(node!(Macro(of) { name: same, args: expressions, defaults: expressions, body: statements }))
}

fn call<'a>(of: &Spanned<Call<'a>>) -> Rewritten<Spanned<Call<'a>>> {
    Ok(node!(Call(of) { expr: expression, args: arguments }))
}

fn arguments<'a>(from: &[CallArg<'a>]) -> Rewritten<Vec<CallArg<'a>>> {
    let rewritten = |argument: &CallArg<'a>| {
        Ok(match argument {
            CallArg::Pos(of) => CallArg::Pos(operand(of)?),
            CallArg::Kwarg(name, of) => CallArg::Kwarg(name, operand(of)?),
            CallArg::PosSplat(of) => CallArg::PosSplat(operand(of)?),
            CallArg::KwargSplat(of) => CallArg::KwargSplat(operand(of)?),
        })
    };
    from.iter().map(rewritten).collect()
}

fn spent(value: Expr<'_>) -> Expr<'_> {
    let span = value.span();
    called(SPEND, vec![value], span)
}

fn called<'a>(name: &'static str, args: Vec<Expr<'a>>, span: Span) -> Expr<'a> {
    let expr = Expr::Var(Spanned::new(Var { id: name }, span));
    let args = args.into_iter().map(CallArg::Pos).collect();
    Expr::Call(Spanned::new(Call { expr, args }, span))
}
