"""Which grammar reads which file, and what counts as a definition in it.

Grammars come as one wheel a language and are loaded when the first file of that language is parsed; nothing is ever
downloaded. A language without a grammar here still takes part in the map by its path and its words.

In a query, `@name` is the name that is defined and `@def` the whole definition; `@quiet` marks comments and the insides of
strings, whose words are no references; `@import` a text that names another file.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Language:
    """A grammar: the wheel's module, the function in it, and the query."""

    name: str
    module: str
    function: str
    query: str


_PYTHON = """
(class_definition name: (identifier) @name) @def
(function_definition name: (identifier) @name) @def
(module (expression_statement (assignment left: (identifier) @name)) @def)
(comment) @quiet
(string_content) @quiet
(import_from_statement module_name: (_) @import)
(import_statement name: (_) @import)
"""
_JAVASCRIPT = """
(function_declaration name: (identifier) @name) @def
(generator_function_declaration name: (identifier) @name) @def
(class_declaration name: (_) @name) @def
(method_definition name: (property_identifier) @name) @def
(program (lexical_declaration (variable_declarator name: (identifier) @name)) @def)
(program (variable_declaration (variable_declarator name: (identifier) @name)) @def)
(program (export_statement declaration: (lexical_declaration (variable_declarator name: (identifier) @name))) @def)
(comment) @quiet
(string_fragment) @quiet
(import_statement source: (string (string_fragment) @import))
(export_statement source: (string (string_fragment) @import))
(call_expression function: (import) arguments: (arguments (string (string_fragment) @import)))
(call_expression function: (identifier) @_require arguments: (arguments (string (string_fragment) @import))
  (#eq? @_require "require"))
"""
_TYPESCRIPT = (
    _JAVASCRIPT
    + """
(interface_declaration name: (_) @name) @def
(type_alias_declaration name: (_) @name) @def
(enum_declaration name: (_) @name) @def
(abstract_class_declaration name: (_) @name) @def
(function_signature name: (identifier) @name) @def
(method_signature name: (property_identifier) @name) @def
"""
)
_GO = """
(function_declaration name: (identifier) @name) @def
(method_declaration name: (field_identifier) @name) @def
(type_declaration (type_spec name: (type_identifier) @name)) @def
(source_file (const_declaration (const_spec name: (identifier) @name) @def))
(source_file (var_declaration (var_spec name: (identifier) @name) @def))
(comment) @quiet
(interpreted_string_literal) @quiet
(raw_string_literal) @quiet
(import_spec path: (interpreted_string_literal) @import)
"""
_RUST = """
(function_item name: (identifier) @name) @def
(function_signature_item name: (identifier) @name) @def
(struct_item name: (type_identifier) @name) @def
(enum_item name: (type_identifier) @name) @def
(union_item name: (type_identifier) @name) @def
(trait_item name: (type_identifier) @name) @def
(type_item name: (type_identifier) @name) @def
(macro_definition name: (identifier) @name) @def
(const_item name: (identifier) @name) @def
(static_item name: (identifier) @name) @def
(line_comment) @quiet
(block_comment) @quiet
(string_content) @quiet
(mod_item name: (identifier) @import)
"""
_C = """
(function_definition declarator: (function_declarator declarator: (identifier) @name)) @def
(function_definition declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @name))) @def
(struct_specifier name: (type_identifier) @name body: (_)) @def
(union_specifier name: (type_identifier) @name body: (_)) @def
(enum_specifier name: (type_identifier) @name body: (_)) @def
(type_definition declarator: (type_identifier) @name) @def
(preproc_def name: (identifier) @name) @def
(preproc_function_def name: (identifier) @name) @def
(declaration declarator: (function_declarator declarator: (identifier) @name)) @def
(comment) @quiet
(string_content) @quiet
(preproc_include path: (string_literal (string_content) @import))
(preproc_include path: (system_lib_string) @import)
"""
_CPP = (
    _C
    + """
(class_specifier name: (type_identifier) @name body: (_)) @def
(function_definition declarator: (function_declarator declarator: (field_identifier) @name)) @def
(function_definition declarator: (function_declarator declarator: (qualified_identifier name: (identifier) @name))) @def
(namespace_definition name: (_) @name) @def
"""
)
_JAVA = """
(class_declaration name: (identifier) @name) @def
(interface_declaration name: (identifier) @name) @def
(enum_declaration name: (identifier) @name) @def
(record_declaration name: (identifier) @name) @def
(annotation_type_declaration name: (identifier) @name) @def
(method_declaration name: (identifier) @name) @def
(constructor_declaration name: (identifier) @name) @def
(line_comment) @quiet
(block_comment) @quiet
(string_fragment) @quiet
(import_declaration (scoped_identifier) @import)
"""
_RUBY = """
(class name: (_) @name) @def
(module name: (_) @name) @def
(method name: (_) @name) @def
(singleton_method name: (_) @name) @def
(assignment left: (constant) @name) @def
(comment) @quiet
(string_content) @quiet
(call method: (identifier) @_require arguments: (argument_list (string (string_content) @import))
  (#any-of? @_require "require" "require_relative"))
"""
_PHP = """
(class_declaration name: (name) @name) @def
(interface_declaration name: (name) @name) @def
(trait_declaration name: (name) @name) @def
(enum_declaration name: (name) @name) @def
(function_definition name: (name) @name) @def
(method_declaration name: (name) @name) @def
(comment) @quiet
(string_content) @quiet
(namespace_use_clause (qualified_name) @import)
"""
_C_SHARP = """
(class_declaration name: (identifier) @name) @def
(interface_declaration name: (identifier) @name) @def
(struct_declaration name: (identifier) @name) @def
(record_declaration name: (identifier) @name) @def
(enum_declaration name: (identifier) @name) @def
(delegate_declaration name: (identifier) @name) @def
(method_declaration name: (identifier) @name) @def
(constructor_declaration name: (identifier) @name) @def
(property_declaration name: (identifier) @name) @def
(comment) @quiet
(string_literal_content) @quiet
"""
_KOTLIN = """
(class_declaration name: (identifier) @name) @def
(object_declaration name: (identifier) @name) @def
(function_declaration name: (identifier) @name) @def
(line_comment) @quiet
(block_comment) @quiet
(import (qualified_identifier) @import)
"""

LANGUAGES = {
    language.name: language
    for language in (
        Language("python", "tree_sitter_python", "language", _PYTHON),
        Language("javascript", "tree_sitter_javascript", "language", _JAVASCRIPT),
        Language("typescript", "tree_sitter_typescript", "language_typescript", _TYPESCRIPT),
        Language("tsx", "tree_sitter_typescript", "language_tsx", _TYPESCRIPT),
        Language("go", "tree_sitter_go", "language", _GO),
        Language("rust", "tree_sitter_rust", "language", _RUST),
        Language("c", "tree_sitter_c", "language", _C),
        Language("cpp", "tree_sitter_cpp", "language", _CPP),
        Language("java", "tree_sitter_java", "language", _JAVA),
        Language("ruby", "tree_sitter_ruby", "language", _RUBY),
        Language("php", "tree_sitter_php", "language_php", _PHP),
        Language("c_sharp", "tree_sitter_c_sharp", "language", _C_SHARP),
        Language("kotlin", "tree_sitter_kotlin", "language", _KOTLIN),
    )
}

_SUFFIXES = {
    "python": "py pyi pyw",
    "javascript": "js jsx mjs cjs",
    "typescript": "ts mts cts",
    "tsx": "tsx",
    "go": "go",
    "rust": "rs",
    "c": "c",
    "cpp": "cc cpp cxx hpp hh hxx h inl ipp cu cuh",
    "java": "java",
    "ruby": "rb rake gemspec",
    "php": "php",
    "c_sharp": "cs",
    "kotlin": "kt kts",
}
_BY_SUFFIX = {suffix: name for name, text in _SUFFIXES.items() for suffix in text.split()}


def language_of(path: str) -> str:
    """The name of the grammar for a path, "" where there is none."""
    name = path.rsplit("/", 1)[-1]
    return _BY_SUFFIX.get(name.rsplit(".", 1)[-1].lower(), "") if "." in name else ""
