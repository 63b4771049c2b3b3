//! A template's tree with a call of [`SPEND`] around every operand, argument and assigned value, and
//! around every piece of plain text. It means the same, but for what exceeds the budget.

use minijinja::machinery::ast::{
    AutoEscape, BinOp, BinOpKind, Call, CallArg, CallBlock, Compare, CompareOp, Const, Do,
    EmitExpr, Expr, Filter, FilterBlock, ForLoop, GetAttr, GetItem, IfCond, IfExpr, List, Macro,
    Map, Set, SetBlock, Slice, Spanned, Stmt, Template, Test, UnaryOp, UnaryOpKind, Var, WithBlock,
};
use minijinja::machinery::{Span, Token, WhitespaceConfig, tokenize};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Value;
use minijinja::{Error, ErrorKind};

use super::refused;

/// The functions that stand in the tree; no template can name them.
pub(super) const SPEND: &str = "\u{0}spend";
pub(super) const PRODUCT: &str = "\u{0}product";

/// Words and signs within one pair of brackets.
const MOST_TOKENS: usize = 4000;
/// `elif` in all of a template: each stands within the one before.
const MOST_BRANCHES: usize = 1000;

/// Tests that look at no more than what kind a value is of.
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

/// Refuses expressions that are longer than the stack is deep.
pub(super) fn check_length(source: &str) -> Result<(), Error> {
    let whitespace = WhitespaceConfig {
        keep_trailing_newline: false,
        lstrip_blocks: true,
        trim_blocks: true,
    };
    let (mut within, mut branches) = (0, 0);
    for token in tokenize(source, false, SyntaxConfig, whitespace) {
        let (token, _) = token?;
        within = match token {
            Token::TemplateData(_) | Token::VariableStart | Token::BlockStart => 0,
            _ => within + 1,
        };
        branches += usize::from(matches!(token, Token::Ident("elif")));
        if within > MOST_TOKENS || branches > MOST_BRANCHES {
            return Err(refused(
                "one of its expressions is longer than any".to_owned(),
            ));
        }
    }
    Ok(())
}

type Rewritten<T> = Result<T, Error>;

fn at<T>(node: T, span: Span) -> Spanned<T> {
    Spanned::new(node, span)
}

fn statements<'a>(from: &[Stmt<'a>]) -> Rewritten<Vec<Stmt<'a>>> {
    from.iter().map(statement).collect()
}

/// A statement of a template, or the whole.
pub(super) fn statement<'a>(from: &Stmt<'a>) -> Rewritten<Stmt<'a>> {
    Ok(match from {
        Stmt::Template(of) => Stmt::Template(at(
            Template {
                children: statements(&of.children)?,
            },
            of.span(),
        )),
        Stmt::EmitExpr(of) => Stmt::EmitExpr(at(
            EmitExpr {
                expr: expression(&of.expr)?,
            },
            of.span(),
        )),
        Stmt::EmitRaw(of) => {
            let value = Value::from(of.raw);
            let text = Expr::Const(at(Const { value }, of.span()));
            Stmt::EmitExpr(at(EmitExpr { expr: spent(text) }, of.span()))
        }
        Stmt::ForLoop(of) => Stmt::ForLoop(at(
            ForLoop {
                target: expression(&of.target)?,
                iter: expression(&of.iter)?,
                filter_expr: of.filter_expr.as_ref().map(expression).transpose()?,
                recursive: of.recursive,
                body: statements(&of.body)?,
                else_body: statements(&of.else_body)?,
            },
            of.span(),
        )),
        Stmt::IfCond(of) => Stmt::IfCond(at(
            IfCond {
                expr: expression(&of.expr)?,
                true_body: statements(&of.true_body)?,
                false_body: statements(&of.false_body)?,
            },
            of.span(),
        )),
        Stmt::WithBlock(of) => {
            let assignments = of.assignments.iter();
            let assignments = assignments
                .map(|(target, value)| Ok((expression(target)?, spent(expression(value)?))))
                .collect::<Rewritten<_>>()?;
            let body = statements(&of.body)?;
            Stmt::WithBlock(at(WithBlock { assignments, body }, of.span()))
        }
        Stmt::Set(of) => Stmt::Set(at(
            Set {
                target: expression(&of.target)?,
                expr: spent(expression(&of.expr)?),
            },
            of.span(),
        )),
        Stmt::SetBlock(of) => Stmt::SetBlock(at(
            SetBlock {
                target: expression(&of.target)?,
                filter: of.filter.as_ref().map(expression).transpose()?,
                body: statements(&of.body)?,
            },
            of.span(),
        )),
        Stmt::AutoEscape(of) => Stmt::AutoEscape(at(
            AutoEscape {
                enabled: expression(&of.enabled)?,
                body: statements(&of.body)?,
            },
            of.span(),
        )),
        Stmt::FilterBlock(of) => Stmt::FilterBlock(at(
            FilterBlock {
                filter: expression(&of.filter)?,
                body: statements(&of.body)?,
            },
            of.span(),
        )),
        Stmt::Macro(of) => Stmt::Macro(at(made(of)?, of.span())),
        Stmt::CallBlock(of) => {
            let call = at(call(&of.call)?, of.call.span());
            let macro_decl = at(made(&of.macro_decl)?, of.macro_decl.span());
            Stmt::CallBlock(at(CallBlock { call, macro_decl }, of.span()))
        }
        Stmt::Continue(of) => Stmt::Continue(at(minijinja::machinery::ast::Continue, of.span())),
        Stmt::Break(of) => Stmt::Break(at(minijinja::machinery::ast::Break, of.span())),
        Stmt::Do(of) => {
            let call = at(call(&of.call)?, of.call.span());
            Stmt::Do(at(Do { call }, of.span()))
        }
        // There is only one template.
        Stmt::Block(_)
        | Stmt::Import(_)
        | Stmt::FromImport(_)
        | Stmt::Extends(_)
        | Stmt::Include(_) => {
            return Err(Error::new(
                ErrorKind::InvalidOperation,
                "it refers to other templates, which there are not",
            ));
        }
    })
}

fn made<'a>(of: &Macro<'a>) -> Rewritten<Macro<'a>> {
    Ok(Macro {
        name: of.name,
        args: expressions(&of.args)?,
        defaults: expressions(&of.defaults)?,
        body: statements(&of.body)?,
    })
}

fn expressions<'a>(from: &[Expr<'a>]) -> Rewritten<Vec<Expr<'a>>> {
    from.iter().map(expression).collect()
}

fn maybe<'a>(from: Option<&Expr<'a>>) -> Rewritten<Option<Expr<'a>>> {
    from.map(expression).transpose()
}

fn expression<'a>(from: &Expr<'a>) -> Rewritten<Expr<'a>> {
    Ok(match from {
        Expr::Var(of) => Expr::Var(at(Var { id: of.id }, of.span())),
        Expr::Const(of) => {
            let value = of.value.clone();
            Expr::Const(at(Const { value }, of.span()))
        }
        Expr::Slice(of) => Expr::Slice(at(
            Slice {
                expr: spent(expression(&of.expr)?),
                start: maybe(of.start.as_ref())?,
                stop: maybe(of.stop.as_ref())?,
                step: maybe(of.step.as_ref())?,
            },
            of.span(),
        )),
        Expr::UnaryOp(of) => Expr::UnaryOp(at(
            UnaryOp {
                op: match of.op {
                    UnaryOpKind::Not => UnaryOpKind::Not,
                    UnaryOpKind::Neg => UnaryOpKind::Neg,
                },
                expr: expression(&of.expr)?,
            },
            of.span(),
        )),
        Expr::BinOp(of) => {
            let (left, right) = (expression(&of.left)?, expression(&of.right)?);
            let op = of.op;
            let (left, right) = match op {
                BinOpKind::Mul => return Ok(called(PRODUCT, vec![left, right], of.span())),
                BinOpKind::ScAnd | BinOpKind::ScOr => (left, right),
                _ => (spent(left), spent(right)),
            };
            Expr::BinOp(at(BinOp { op, left, right }, of.span()))
        }
        Expr::Compare(of) => {
            let operand = |op: &CompareOp<'a>| {
                Ok(CompareOp {
                    op: op.op,
                    expr: spent(expression(&op.expr)?),
                })
            };
            let expr = spent(expression(&of.expr)?);
            let ops = of.ops.iter().map(operand).collect::<Rewritten<_>>()?;
            Expr::Compare(at(Compare { expr, ops }, of.span()))
        }
        Expr::IfExpr(of) => Expr::IfExpr(at(
            IfExpr {
                test_expr: expression(&of.test_expr)?,
                true_expr: expression(&of.true_expr)?,
                false_expr: maybe(of.false_expr.as_ref())?,
            },
            of.span(),
        )),
        Expr::Filter(of) => Expr::Filter(at(
            Filter {
                name: of.name,
                expr: maybe(of.expr.as_ref())?,
                args: arguments(&of.args)?,
            },
            of.span(),
        )),
        Expr::Test(of) => {
            let expr = expression(&of.expr)?;
            let test = Test {
                name: of.name,
                expr: if OF_KINDS.contains(&of.name) {
                    expr
                } else {
                    spent(expr)
                },
                args: arguments(&of.args)?,
            };
            Expr::Test(at(test, of.span()))
        }
        Expr::GetAttr(of) => {
            let expr = expression(&of.expr)?;
            let name = of.name;
            Expr::GetAttr(at(GetAttr { expr, name }, of.span()))
        }
        Expr::GetItem(of) => Expr::GetItem(at(
            GetItem {
                expr: expression(&of.expr)?,
                subscript_expr: spent(expression(&of.subscript_expr)?),
            },
            of.span(),
        )),
        Expr::Call(of) => Expr::Call(at(call(of)?, of.span())),
        Expr::List(of) => {
            let items = expressions(&of.items)?.into_iter().map(spent).collect();
            Expr::List(at(List { items }, of.span()))
        }
        Expr::Map(of) => {
            let keys = expressions(&of.keys)?.into_iter().map(spent).collect();
            let values = expressions(&of.values)?.into_iter().map(spent).collect();
            Expr::Map(at(Map { keys, values }, of.span()))
        }
    })
}

fn call<'a>(of: &Call<'a>) -> Rewritten<Call<'a>> {
    Ok(Call {
        expr: expression(&of.expr)?,
        args: arguments(&of.args)?,
    })
}

fn arguments<'a>(from: &[CallArg<'a>]) -> Rewritten<Vec<CallArg<'a>>> {
    let rewritten = from.iter().map(|argument| {
        Ok(match argument {
            CallArg::Pos(of) => CallArg::Pos(spent(expression(of)?)),
            CallArg::Kwarg(name, of) => CallArg::Kwarg(name, spent(expression(of)?)),
            CallArg::PosSplat(of) => CallArg::PosSplat(spent(expression(of)?)),
            CallArg::KwargSplat(of) => CallArg::KwargSplat(spent(expression(of)?)),
        })
    });
    rewritten.collect()
}

fn spent(value: Expr<'_>) -> Expr<'_> {
    let span = value.span();
    called(SPEND, vec![value], span)
}

fn called<'a>(name: &'static str, args: Vec<Expr<'a>>, span: Span) -> Expr<'a> {
    let expr = Expr::Var(at(Var { id: name }, span));
    let args = args.into_iter().map(CallArg::Pos).collect();
    Expr::Call(at(Call { expr, args }, span))
}
