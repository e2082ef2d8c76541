"""Aligns two lists of calls or actions, and decides whether two arguments agree.

values      when two JSON values are alike
arguments   when the arguments of two calls agree, and in how many of them
align       longest common subsequence and best assignment: numbers in, places out
comparison  two lists of calls: exact, in order, any order, precision, recall, F1
presets     the scores of other libraries, including their rules for empty lists
actions     two GUI actions: type, distance, box, element, content
"""
