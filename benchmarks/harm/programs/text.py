"""Text and parsing: tokens, expressions, CSV, templates, edit distances."""

import re

TOKEN = re.compile(r"\s*(?:(\d+\.?\d*)|(.))")


def tokens(text):
    for number, operator in TOKEN.findall(text):
        yield float(number) if number else operator


class Parser:
    """Recursive descent over arithmetic."""

    def __init__(self, text):
        self.items = list(tokens(text))
        self.at = 0

    def peek(self):
        return self.items[self.at] if self.at < len(self.items) else None

    def take(self):
        self.at += 1
        return self.items[self.at - 1]

    def sum_(self):
        value = self.product()
        while self.peek() in ("+", "-"):
            value = value + self.product() if self.take() == "+" else value - self.product()
        return value

    def product(self):
        value = self.atom()
        while self.peek() in ("*", "/"):
            value = value * self.atom() if self.take() == "*" else value / self.atom()
        return value

    def atom(self):
        item = self.take()
        if item == "(":
            value = self.sum_()
            self.take()
            return value
        return -self.atom() if item == "-" else item


def evaluate(text):
    return Parser(text).sum_()


def read_table(text):
    header, *lines = text.strip().split("\n")
    names = header.split(",")
    rows = []
    for line in lines:
        row = {}
        for name, field in zip(names, line.split(",")):
            row[name] = int(field) if field.isdigit() else field.strip()
        rows.append(row)
    return rows


def edit_distance(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            before, row[j] = row[j], min(before + (x != y), row[j] + 1, row[j - 1] + 1)
    return row[-1]


def build(n):
    out = ""
    for i in range(n):
        out += f"{i}:{i * i:04x};"
        if i % 10 == 0:
            out += "\n"
    return out


def wrap(words, width):
    lines, line = [], ""
    for w in words:
        if len(line) + len(w) + 1 > width:
            lines.append(line)
            line = w
        else:
            line = line + " " + w if line else w
    return [*lines, line]


def caesar(text, shift):
    out = []
    for c in text:
        if c.isalpha():
            base = 65 if c.isupper() else 97
            out.append(chr((ord(c) - base + shift) % 26 + base))
        else:
            out.append(c)
    return "".join(out)


def run_machine(program):
    """A stack machine: a chain of comparisons of strings for each instruction."""
    stack, at, steps = [], 0, 0
    while at < len(program):
        op, value = program[at]
        at += 1
        steps += 1
        if op == "push":
            stack.append(value)
        elif op == "add":
            stack.append(stack.pop() + stack.pop())
        elif op == "sub":
            b = stack.pop()
            stack.append(stack.pop() - b)
        elif op == "dup":
            stack.append(stack[-1])
        elif op == "jump_positive":
            if stack[-1] > 0:
                at = value
    return stack, steps


def make(jit):
    expression = "-(1 + 2) * 3.5 / (4 - 1.5) + 2 * (3 - 4 * (5 + 6)) - 7" * 2
    table = "name,age,town\n" + "\n".join(f"n{i},{i % 90},t{i % 7}" for i in range(60))
    words = ("lorem ipsum dolor sit amet consectetur adipiscing elit sed do " * 10).split()
    machine = [
        ("push", 0),
        ("push", 60),
        ("push", 1),
        ("sub", None),
        ("jump_positive", 2),
        ("dup", None),
        ("add", None),
    ]
    return [
        ("text_expression", evaluate, lambda k: (expression,)),
        ("text_table", read_table, lambda k: (table,)),
        ("text_distance", edit_distance, lambda k: ("kitten sitting on", f"sitting kitten {k % 10}")),
        ("text_build", build, lambda k: (150,)),
        ("text_wrap", wrap, lambda k: (words, 40)),
        ("text_caesar", caesar, lambda k: ("Attack at dawn, they said. " * 8, k % 26)),
        ("text_machine", run_machine, lambda k: (machine,)),
    ]
