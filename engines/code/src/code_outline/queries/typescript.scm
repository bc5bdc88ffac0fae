(class_declaration name: (_) @name) @class
(abstract_class_declaration name: (_) @name) @class
(interface_declaration name: (type_identifier) @name) @interface
(enum_declaration name: (identifier) @name) @enum
(type_alias_declaration name: (type_identifier) @name) @type
(internal_module name: (_) @name) @module
(module name: (_) @name) @module
(function_signature name: (identifier) @name) @function
(method_signature name: (_) @name) @method
(abstract_method_signature name: (_) @name) @method
(class name: (_) @name) @class
(method_definition name: (property_identifier) @name (#eq? @name "constructor")) @constructor
(method_definition name: (_) @name) @method
(function_declaration name: (identifier) @name) @function
(generator_function_declaration name: (identifier) @name) @function
(function_expression name: (identifier) @name) @function
(lexical_declaration (variable_declarator name: (identifier) @name value: [(arrow_function) (function_expression)])) @function
(variable_declaration (variable_declarator name: (identifier) @name value: [(arrow_function) (function_expression)])) @function
(public_field_definition name: (_) @name value: [(arrow_function) (function_expression)]) @method
(assignment_expression left: (member_expression property: (property_identifier) @name) right: [(arrow_function) (function_expression)]) @function
(pair key: (property_identifier) @name value: [(arrow_function) (function_expression)]) @function
(program (lexical_declaration kind: "const" (variable_declarator name: (identifier) @name)) @constant)
(program (export_statement (lexical_declaration kind: "const" (variable_declarator name: (identifier) @name)) @constant))
(import_statement source: (string) @import)
(export_statement source: (string) @import)
(call_expression function: (identifier) @called arguments: (arguments . (string) @import) (#eq? @called "require"))
(call_expression function: (import) arguments: (arguments . (string) @import))
